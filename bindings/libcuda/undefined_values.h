// Keeps undefined values that kernels stored, computed from memory that was never written, until
// the host reads such a value: only then is it a finding.
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
  /// Keeps the finding for UndefinedStore `number` of a device, in case the host reads its value.
  void keep(int device, uint32_t number, RunFinding finding);
  /// Records the findings for bytes that the host reads by the call of `site`.
  void host_gets(int device, const std::vector<UndefinedBytes>& bytes, const CallSite& site,
                 Recorder& recorder);

  /// Returns true if anything was kept.
  bool any() const { return any_; }

 private:
  using Shared = std::shared_ptr<const RunFinding>;

  std::atomic<bool> any_ = false;
  std::mutex mutex_;  ///< Guards the members below.
  std::unordered_map<uint64_t, Shared> by_number_;
  std::map<std::string, Shared> by_text_;  ///< Launches in a loop share equal findings.
};

}  // namespace gpuemu::libcuda
