// Matrix products by cuBLAS, where a machine has it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/base/result.h"
#include "common/numeric/dtype.h"
#include "ops/vendor/cublas_api.h"
#include "runtime/toolkit/shared_library.h"

namespace gpuemu {

/// c = op(a) * op(b), contiguous, row-major: c is m x n and the sums run over k. A transposed
/// operand is stored as k x m or n x k.
struct CublasProduct {
  DType dtype = DType::Float32;  ///< float32, float16, bfloat16 or float64; 16 bits sum in float32.
  uint64_t a = 0, b = 0, c = 0;  ///< Device addresses.
  int64_t m = 0, n = 0, k = 0;   ///< From 1 to 2^31 - 1.
  bool a_transposed = false, b_transposed = false;
  bool tf32 = false;  ///< float32 may be multiplied with the 10 bits of TF32.
};

/// Where and with what memory. The workspace has to stay until the stream's work is done.
struct CublasPlace {
  uint64_t stream = 0;  ///< A CUstream.
  uint64_t workspace = 0, workspace_bytes = 0;
};

/// Any thread.
class Cublas {
 public:
  /// For the device whose context is current on this thread. Unavailable: there is no cuBLAS, or it
  /// refuses. `library`: another file than those that NVIDIA names.
  static Result<std::unique_ptr<Cublas>> open(const std::string& library = {});
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Issues it. The device's context is current on this thread. Launch when cuBLAS refuses.
  Status multiply(const CublasProduct& product, const CublasPlace& place);
  /// "cublas 130101": what its results and times depend on.
  std::string version() const { return version_; }

 private:
  Cublas(const cublas::Api& api, cublas::Handle handle) : api_(api), handle_(handle) {}

  const cublas::Api api_;
  const cublas::Handle handle_;
  std::string version_;
  std::mutex mutex_;  ///< Stream and workspace are of the handle.
};

/// The library, opened without its state: whether there is one at all.
Result<SharedLibrary> find_cublas();
/// "13.1.1"; "" where there is none.
std::string cublas_version();

}  // namespace gpuemu
