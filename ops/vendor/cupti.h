// Records what a GPU did, kernel by kernel, with CUPTI, which is loaded on demand. Includes kernels
// of graphs and of other libraries in the process.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "ops/vendor/cupti_api.h"

namespace gpuemu {

struct KernelRecord {
  std::string name;                   ///< In C++ spelling.
  uint64_t begin_ns = 0, end_ns = 0;  ///< In the clock of KernelRecorder::now_ns().
  uint32_t stream = 0;                ///< CUPTI's stream number.
  std::array<int32_t, 3> grid = {}, block = {};
  uint32_t registers = 0;     ///< Per thread.
  uint32_t local_bytes = 0;   ///< Per thread.
  uint64_t shared_bytes = 0;  ///< Per block, static and dynamic.
};

/// Only one at a time per process, because CUPTI's callbacks carry no user data.
class KernelRecorder {
 public:
  /// Unavailable if CUPTI is missing, another recorder runs, or CUPTI refuses, as it does if
  /// another profiler uses the device. `library`: a file other than NVIDIA's names.
  static Result<std::unique_ptr<KernelRecorder>> start(size_t records_max,
                                                       const std::string& library = {});
  ~KernelRecorder();
  KernelRecorder(const KernelRecorder&) = delete;
  KernelRecorder& operator=(const KernelRecorder&) = delete;

  uint64_t now_ns() const;

  struct Recorded {
    std::vector<KernelRecord> kernels;
    uint64_t dropped = 0;  ///< Beyond records_max, or lost by CUPTI.
  };
  /// Returns the records. Unfinished work is missing, so wait for the device before.
  Result<Recorded> stop();

 private:
  explicit KernelRecorder(const cupti::Api& api) : api_(api) {}

  const cupti::Api api_;
  bool stopped_ = false;
};

/// Returns the version of CUPTI's interface, such as "130100"; "" if it is missing.
std::string cupti_version();

}  // namespace gpuemu
