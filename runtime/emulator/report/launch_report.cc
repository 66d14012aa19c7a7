#include "runtime/emulator/report/launch_report.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/base/limits.h"
#include "runtime/emulator/report/counters.h"

namespace gpuemu::emulator {
namespace {

bool same_pair(const DeviceFinding& a, const DeviceFinding& b) {
  return a.kind == b.kind && a.ptx_line == b.ptx_line && a.other_ptx_line == b.other_ptx_line &&
         a.tensor == b.tensor;
}

/// The order of reports: by block, then by instruction. When something was found depends on how the
/// instructions are executed; where it was found does not.
auto place_of(uint64_t block, const DeviceFinding& finding) {
  // What ends the launch comes after what led to it, and what a race left undefined after the race.
  const bool ends = effect_of(finding.kind) == DeviceFindingEffect::StopsLaunch;
  const bool may_follow = finding.kind == DeviceFindingKind::Uninitialized;
  return std::make_tuple(block, ends, finding.ptx_line, may_follow, finding.other_ptx_line,
                         finding.kind, std::string_view(finding.tensor));
}

}  // namespace

LaunchReportBuilder::LaunchReportBuilder(std::shared_ptr<Counters> counters)
    : counters_(std::move(counters)) {}

LaunchReportBuilder::BlockFinding* LaunchReportBuilder::add_to(
    std::vector<BlockFinding>& list, BlockFinding added,
    const std::function<void(DeviceFinding&)>& complete) {
  const auto known = std::ranges::find_if(
      list, [&](const BlockFinding& other) { return same_pair(other.finding, added.finding); });
  if (known != list.end()) {
    if (known->block <= added.block) {
      known->finding.count += added.finding.count;
      return &*known;
    }
    added.finding.count += known->finding.count;
    added.number = known->number;
    list.erase(known);
  }
  if (list.size() >= kFindingsMax) return nullptr;
  complete(added.finding);
  list.push_back(std::move(added));
  return &list.back();
}

bool LaunchReportBuilder::add(uint64_t block, DeviceFinding finding,
                              const std::function<void(DeviceFinding&)>& complete) {
  const std::lock_guard lock(mutex_);
  add_to(findings_, {block, std::move(finding)}, complete);
  return findings_.size() >= kFindingsMax;
}

uint32_t LaunchReportBuilder::add_undefined(uint64_t block, DeviceFinding finding,
                                            const std::function<uint32_t()>& number,
                                            const std::function<void(DeviceFinding&)>& complete) {
  const std::lock_guard lock(mutex_);
  BlockFinding* added = add_to(undefined_, {block, std::move(finding)}, complete);
  if (added == nullptr) return 0;
  if (added->number == 0) added->number = number();
  return added->number;
}

size_t LaunchReportBuilder::finding_count() const {
  const std::lock_guard lock(mutex_);
  return findings_.size();
}

DeviceFinding LaunchReportBuilder::finding(size_t index) const {
  const std::lock_guard lock(mutex_);
  return findings_[index].finding;
}

bool LaunchReportBuilder::print_full() const {
  return printed_.size() >= kPrintedLinesMax || printed_bytes_ >= kPrintedBytesMax;
}

bool LaunchReportBuilder::is_print_full() const {
  const std::lock_guard lock(mutex_);
  return print_full();
}

void LaunchReportBuilder::print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  for (const char c : text) {
    if (print_full()) {
      return;
    }
    ++printed_bytes_;
    if (c != '\n') {
      printed_tail_.push_back(c);
      continue;
    }
    printed_.push_back(printed_tail_);
    printed_tail_.clear();
  }
}

std::shared_ptr<Counters> LaunchReportBuilder::new_block_counters() const {
  const std::lock_guard lock(mutex_);
  if (counters_ == nullptr) {
    return nullptr;
  }
  auto made = std::make_shared<Counters>(*counters_);
  made->counts.clear();
  return made;
}

void LaunchReportBuilder::add_counts(const Counters& block) {
  const std::lock_guard lock(mutex_);
  counters_->counts.add(block.counts);
}

void LaunchReportBuilder::sort(std::vector<BlockFinding>& list) {
  std::ranges::stable_sort(
      list, {}, [](const BlockFinding& one) { return place_of(one.block, one.finding); });
}

std::vector<DeviceFinding> LaunchReportBuilder::take_findings() {
  const std::lock_guard lock(mutex_);
  sort(findings_);
  std::vector<DeviceFinding> taken;
  for (BlockFinding& one : std::exchange(findings_, {})) taken.push_back(std::move(one.finding));
  return taken;
}

std::vector<UndefinedStore> LaunchReportBuilder::take_undefined() {
  const std::lock_guard lock(mutex_);
  sort(undefined_);
  std::vector<UndefinedStore> taken;
  for (BlockFinding& one : std::exchange(undefined_, {})) {
    taken.push_back({one.number, std::move(one.finding)});
  }
  return taken;
}

std::vector<std::string> LaunchReportBuilder::take_printed() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines = std::exchange(printed_, {});
  if (!printed_tail_.empty()) {
    lines.push_back(std::exchange(printed_tail_, {}));
  }
  return lines;
}

}  // namespace gpuemu::emulator
