// y = one value everywhere. Any one-dimensional grid and block.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ __forceinline__ T rounded(double value) {
  return static_cast<T>(value);
}
template <>
__device__ __forceinline__ __half rounded<__half>(double value) {
  return __double2half(value);
}
template <>
__device__ __forceinline__ __nv_bfloat16 rounded<__nv_bfloat16>(double value) {
  return __double2bfloat16(value);
}

template <typename T>
__device__ void fill_body(T* y, long long n, double value) {
  const T element = rounded<T>(value);
  const long long threads = thread_count();
  for (long long i = thread_index(); i < n; i += threads) y[i] = element;
}

#define GPUEMU_FILL(dtype, type) \
  GPUEMU_ENTRY(fill, dtype, type, (T * y, long long n, double value), (y, n, value))

GPUEMU_FILL(float32, float)
GPUEMU_FILL(float64, double)
GPUEMU_FILL(float16, __half)
GPUEMU_FILL(bfloat16, __nv_bfloat16)
GPUEMU_FILL(int8, signed char)
GPUEMU_FILL(int16, short)
GPUEMU_FILL(int32, int)
GPUEMU_FILL(int64, long long)
GPUEMU_FILL(uint8, unsigned char)
GPUEMU_FILL(uint16, unsigned short)
GPUEMU_FILL(uint32, unsigned)
GPUEMU_FILL(uint64, unsigned long long)
GPUEMU_FILL(bool, bool)

}  // namespace gpuemu_kernels
