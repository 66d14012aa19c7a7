// The part of cuBLAS in use: constants and functions of its ABI, which NVIDIA keeps stable within a
// major version and kept from 11 to 13. No header of the toolkit is used.
#pragma once

#include <cstddef>

namespace gpuemu::cublas {

using Handle = struct OpaqueHandle*;
using Stream = struct OpaqueStream*;

inline constexpr int kSuccess = 0;
/// cublasOperation_t
inline constexpr int kAsItLies = 0, kTransposed = 1;
/// cudaDataType_t
inline constexpr int kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 14;
/// cublasComputeType_t
inline constexpr int kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77;
/// cublasMath_t: 16-bit products are accumulated in float, whatever the environment says.
inline constexpr int kNoReducedSums = 16;
inline constexpr int kAnyAlgorithm = -1;

struct Api {
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*version)(Handle, int*) = nullptr;
  int (*set_math)(Handle, int) = nullptr;
  int (*set_stream)(Handle, Stream) = nullptr;
  int (*set_workspace)(Handle, void*, size_t) = nullptr;
  /// op(a), op(b), m, n, k, alpha, a, its type, its leading dimension, b ..., beta, c ..., compute
  /// type, algorithm; column-major.
  int (*gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
              int, const void*, void*, int, int, int, int) = nullptr;
};

}  // namespace gpuemu::cublas
