#include "bindings/libcuda/undefined_values.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "bindings/libcuda/recorder.h"

namespace gpuemu::libcuda {
namespace {

uint64_t key_of(int device, uint32_t number) {
  return static_cast<uint64_t>(static_cast<unsigned>(device)) << 32 | number;
}

/// Returns a key that is equal for findings of which only one is kept.
std::string text_key(const RunFinding& finding) {
  std::string key = fold_key(finding) + "|" + finding.message;
  for (const RunFrame& frame : finding.host.stack) {
    key += fmt::format("|{}:{}:{}", frame.function, frame.file, frame.line);
  }
  return key;
}

}  // namespace

void UndefinedValues::keep(int device, uint32_t number, RunFinding finding) {
  std::string text = text_key(finding);
  const std::lock_guard lock(mutex_);
  Shared& known = by_text_[std::move(text)];
  if (known == nullptr) known = std::make_shared<const RunFinding>(std::move(finding));
  by_number_[key_of(device, number)] = known;
  any_ = true;
}

void UndefinedValues::host_gets(int device, const std::vector<UndefinedBytes>& bytes,
                                const CallSite& site, Recorder& recorder) {
  std::set<Shared> found;
  {
    const std::lock_guard lock(mutex_);
    for (const UndefinedBytes& one : bytes) {
      const auto known = by_number_.find(key_of(device, one.number));
      if (known != by_number_.end()) found.insert(known->second);
    }
  }
  for (const Shared& kept : found) {
    RunFinding made = *kept;
    made.message += fmt::format(", and {} gives that to the host", site.call);
    if (!made.other) made.other.emplace();
    made.other->host = {site.call, frames_of(site)};
    if (!site.test.empty()) made.tests = {site.test};
    recorder.add(std::move(made));
  }
}

}  // namespace gpuemu::libcuda
