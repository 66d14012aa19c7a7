#include "runtime/emulator/report/launch_report.h"

#include <algorithm>
#include <utility>

#include "common/base/limits.h"
#include "runtime/emulator/report/counters.h"

namespace gpuemu::emulator {
namespace {

bool same_pair(const DeviceFinding& a, const DeviceFinding& b) {
  return a.kind == b.kind && a.ptx_line == b.ptx_line && a.other_ptx_line == b.other_ptx_line &&
         a.tensor == b.tensor;
}

}  // namespace

LaunchReportBuilder::LaunchReportBuilder(std::shared_ptr<Counters> counters)
    : counters_(std::move(counters)) {}

bool LaunchReportBuilder::add(DeviceFinding finding,
                              const std::function<void(DeviceFinding&)>& complete) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(
      findings_, [&](const DeviceFinding& other) { return same_pair(other, finding); });
  if (known != findings_.end()) {
    known->count += finding.count;
    return false;
  }
  if (findings_.size() < kFindingsMax) {
    complete(finding);
    findings_.push_back(std::move(finding));
  }
  return findings_.size() >= kFindingsMax;
}

uint32_t LaunchReportBuilder::add_undefined(DeviceFinding finding,
                                            const std::function<uint32_t()>& number,
                                            const std::function<void(DeviceFinding&)>& complete) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(
      undefined_, [&](const UndefinedStore& other) { return same_pair(other.finding, finding); });
  if (known != undefined_.end()) {
    known->finding.count += finding.count;
    return known->number;
  }
  if (undefined_.size() >= kFindingsMax) return 0;
  complete(finding);
  undefined_.push_back({number(), std::move(finding)});
  return undefined_.back().number;
}

size_t LaunchReportBuilder::finding_count() const {
  const std::lock_guard lock(mutex_);
  return findings_.size();
}

DeviceFinding LaunchReportBuilder::finding(size_t index) const {
  const std::lock_guard lock(mutex_);
  return findings_[index];
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

std::vector<DeviceFinding> LaunchReportBuilder::take_findings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(findings_, {});
}

std::vector<UndefinedStore> LaunchReportBuilder::take_undefined() {
  const std::lock_guard lock(mutex_);
  return std::exchange(undefined_, {});
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
