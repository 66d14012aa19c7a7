// Matrix products by cuBLAS, if the machine has it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/base/result.h"
#include "common/numeric/dtype.h"
#include "ops/vendor/cublas_api.h"
#include "runtime/toolkit/shared_library.h"

namespace gpuemu {

/// c = op(a) * op(b), contiguous and row-major: c is m x n, and sums have k terms. A transposed
/// operand is stored as k x m or n x k.
struct CublasProduct {
  DType dtype = DType::Float32;  ///< float32, float16, bfloat16 or float64; 16-bit types accumulate
                                 ///< in float32.
  uint64_t a = 0, b = 0, c = 0;  ///< Device addresses.
  int64_t m = 0, n = 0, k = 0;   ///< From 1 to 2^31 - 1.
  bool a_transposed = false, b_transposed = false;
  bool tf32 = false;  ///< float32 may be multiplied with TF32's 10 fraction bits.
};

/// Stream and workspace of a product. The workspace must stay until the stream's work is done.
struct CublasPlace {
  uint64_t stream = 0;  ///< A CUstream.
  uint64_t workspace = 0, workspace_bytes = 0;
};

/// Thread-safe.
class Cublas {
 public:
  /// Opens cuBLAS for the device whose context is current on this thread. Unavailable if cuBLAS is
  /// missing or refuses. `library`: a file other than NVIDIA's names.
  static Result<std::unique_ptr<Cublas>> open(const std::string& library = {});
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Issues the product. Requires the device's context to be current. Launch if cuBLAS refuses.
  Status multiply(const CublasProduct& product, const CublasPlace& place);
  /// Returns for example "cublas 130101", which identifies the code behind results and times.
  std::string version() const { return version_; }

 private:
  Cublas(const cublas::Api& api, cublas::Handle handle) : api_(api), handle_(handle) {}

  const cublas::Api api_;
  const cublas::Handle handle_;
  std::string version_;
  std::mutex mutex_;  ///< Stream and workspace are properties of the handle.
};

/// Opens the library without creating a handle, to find out whether it is installed.
Result<SharedLibrary> find_cublas();
/// Returns for example "13.1.1"; "" if it is missing.
std::string cublas_version();

}  // namespace gpuemu
