// Keeps what kernels stored of values that they computed from memory that nothing wrote, until the
// host gets such a value: only then it is a finding.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/libcuda/call_sites/call_site.h"
#include "runtime/device/device_finding.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu::libcuda {

class Recorder;

/// Thread-safe.
class UndefinedValues {
 public:
  /// Keeps the finding that UndefinedStore `number` of a device makes when the host gets its value.
  void keep(int device, uint32_t number, RunFinding finding);
  /// Records the findings for bytes that the host gets by the call of `site`.
  void host_gets(int device, const std::vector<UndefinedBytes>& bytes, const CallSite& site,
                 Recorder& recorder);

  /// Whether anything was kept.
  bool any() const { return any_; }

 private:
  using Shared = std::shared_ptr<const RunFinding>;

  std::atomic<bool> any_ = false;
  std::mutex mutex_;  ///< Guards the members below.
  std::unordered_map<uint64_t, Shared> by_number_;
  std::map<std::string, Shared> by_text_;  ///< Launches of a loop share what they say.
};

}  // namespace gpuemu::libcuda
