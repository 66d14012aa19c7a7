#include "ops/vendor/cublas.h"

#include "common/base/check.h"

namespace gpuemu {
namespace {

const std::string kNames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
/// Libraries that it needs, in the order of kNames.
const std::string kOtherHalf[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"};

Result<cublas::Api> bind(const SharedLibrary& library) {
  cublas::Api api;
  GPUEMU_TRY(library.bind("cublasCreate_v2", api.create));
  GPUEMU_TRY(library.bind("cublasDestroy_v2", api.destroy));
  GPUEMU_TRY(library.bind("cublasGetVersion_v2", api.version));
  GPUEMU_TRY(library.bind("cublasSetMathMode", api.set_math));
  GPUEMU_TRY(library.bind("cublasSetStream_v2", api.set_stream));
  GPUEMU_TRY(library.bind("cublasSetWorkspace_v2", api.set_workspace));
  GPUEMU_TRY(library.bind("cublasGemmEx", api.gemm));
  return api;
}

int data_type(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return cublas::kFloat16;
    case DType::BFloat16:
      return cublas::kBFloat16;
    case DType::Float64:
      return cublas::kFloat64;
    default:
      GPUEMU_CHECK(dtype == DType::Float32);
      return cublas::kFloat32;
  }
}

/// A matrix operand for cuBLAS, which is column-major: transposed, so that its leading dimension is
/// the stored row.
struct Operand {
  const void* data;
  int operation, pitch;
};

Operand operand_of(uint64_t address, bool transposed, int64_t rows, int64_t columns) {
  return {reinterpret_cast<const void*>(address),
          transposed ? cublas::kTransposed : cublas::kAsItLies,
          static_cast<int>(transposed ? rows : columns)};
}

Status check(int code, const char* what) {
  if (code == cublas::kSuccess) return ok_status();
  return error(ErrorCode::Launch, "cuBLAS, {}: status {}", what, code);
}

}  // namespace

Result<SharedLibrary> find_cublas() {
  // A copy of cuBLAS that does not name the location of its other library finds it if that is
  // already loaded.
  (void)SharedLibrary::open(kOtherHalf);
  return SharedLibrary::open(kNames);
}

std::string cublas_version() {
  const auto library = find_cublas();
  int (*property)(int kind, int* value) = nullptr;
  if (!library || !library->bind("cublasGetProperty", property)) return {};
  int parts[3] = {0, 0, 0};  // Major, minor, patch: property types 0, 1 and 2 in every version.
  for (int kind = 0; kind < 3; ++kind) {
    if (property(kind, &parts[kind]) != cublas::kSuccess) return {};
  }
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

Result<std::unique_ptr<Cublas>> Cublas::open(const std::string& library) {
  const SharedLibrary found =
      GPUEMU_TRY(library.empty() ? find_cublas() : SharedLibrary::open(std::span(&library, 1)));
  const cublas::Api api = GPUEMU_TRY(bind(found));
  cublas::Handle handle = nullptr;
  if (const int code = api.create(&handle); code != cublas::kSuccess) {
    return error(ErrorCode::Unavailable, "{} makes no state for this device: status {}",
                 found.name(), code);
  }
  std::unique_ptr<Cublas> made(new Cublas(api, handle));
  int version = 0;
  GPUEMU_TRY(check(api.version(handle, &version), "asking for its version"));
  GPUEMU_TRY(check(api.set_math(handle, cublas::kNoReducedSums), "choosing how it sums"));
  made->version_ = fmt::format("cublas {}", version);
  return made;
}

/// A lost device frees nothing, and its process ends soon.
Cublas::~Cublas() { (void)api_.destroy(handle_); }

Status Cublas::multiply(const CublasProduct& product, const CublasPlace& place) {
  // In column-major order, c is the transpose of what is stored: op(b)^T * op(a)^T.
  const Operand left = operand_of(product.b, product.b_transposed, product.k, product.n);
  const Operand right = operand_of(product.a, product.a_transposed, product.m, product.k);
  const bool wide = product.dtype == DType::Float64;
  const double one64 = 1, zero64 = 0;
  const float one32 = 1, zero32 = 0;
  const void* one = wide ? static_cast<const void*>(&one64) : &one32;
  const void* zero = wide ? static_cast<const void*>(&zero64) : &zero32;
  const bool tf32 = product.tf32 && product.dtype == DType::Float32;
  const int compute = wide ? cublas::kCompute64 : tf32 ? cublas::kComputeTf32 : cublas::kCompute32;
  const int type = data_type(product.dtype);
  const std::lock_guard lock(mutex_);
  // Setting a stream resets the workspace.
  GPUEMU_TRY(check(api_.set_stream(handle_, reinterpret_cast<cublas::Stream>(place.stream)),
                   "choosing the stream"));
  GPUEMU_TRY(check(
      api_.set_workspace(handle_, reinterpret_cast<void*>(place.workspace), place.workspace_bytes),
      "giving it a workspace"));
  return check(
      api_.gemm(handle_, left.operation, right.operation, static_cast<int>(product.n),
                static_cast<int>(product.m), static_cast<int>(product.k), one, left.data, type,
                left.pitch, right.data, type, right.pitch, zero, reinterpret_cast<void*>(product.c),
                type, static_cast<int>(product.n), compute, cublas::kAnyAlgorithm),
      "multiplying");
}

}  // namespace gpuemu
