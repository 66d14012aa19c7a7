// What a GPU did, kernel by kernel, as the driver records it: CUPTI, loaded when it is wanted.
// Kernels of graphs and of other libraries of the process are among them.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "ops/vendor/cupti_api.h"

namespace gpuemu {

struct KernelRecord {
  std::string name;                   ///< As C++ writes it.
  uint64_t begin_ns = 0, end_ns = 0;  ///< By the clock of KernelRecorder::now_ns().
  uint32_t stream = 0;                ///< CUPTI's number.
  std::array<int32_t, 3> grid = {}, block = {};
  uint32_t registers = 0;     ///< Per thread.
  uint32_t local_bytes = 0;   ///< Per thread.
  uint64_t shared_bytes = 0;  ///< Per block, static and dynamic.
};

/// One at a time in a process, as CUPTI's callbacks carry nothing that would tell two apart.
class KernelRecorder {
 public:
  /// Unavailable: there is no CUPTI, another recorder runs, or CUPTI refuses, as it does where
  /// another profiler has the device. `library`: another file than those that NVIDIA names.
  static Result<std::unique_ptr<KernelRecorder>> start(size_t records_max,
                                                       const std::string& library = {});
  ~KernelRecorder();
  KernelRecorder(const KernelRecorder&) = delete;
  KernelRecorder& operator=(const KernelRecorder&) = delete;

  uint64_t now_ns() const;

  struct Recorded {
    std::vector<KernelRecord> kernels;
    uint64_t dropped = 0;  ///< Beyond records_max, and what CUPTI had no room for.
  };
  /// What was recorded. Work that is not done is left out: wait for the device before.
  Result<Recorded> stop();

 private:
  explicit KernelRecorder(const cupti::Api& api) : api_(api) {}

  const cupti::Api api_;
  bool stopped_ = false;
};

/// The number of CUPTI's interface, as "130100"; "" where there is none.
std::string cupti_version();

}  // namespace gpuemu
