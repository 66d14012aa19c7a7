// y[o, j, i] = x[o, index[j], i] of x, outer x length x inner; 0 where index[j] is not below
// `length`. Elements move as bits, 16 bytes at once where rows are whole packets. Up to 2^31
// elements in each tensor. Any one-dimensional grid and block.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

struct GatherShape {
  int outer, length, inner, count;
};

/// `Unit` is what moves at once; `inner` counts them.
template <typename Unit, typename I>
__device__ void gather_units(const Unit* x, const I* index, Unit* y, const GatherShape& shape,
                             unsigned inner) {
  const unsigned count = static_cast<unsigned>(shape.count);
  const unsigned total = static_cast<unsigned>(shape.outer) * count * inner;
  const long long threads = thread_count();
  for (long long at = thread_index(); at < total; at += threads) {
    const unsigned unit = static_cast<unsigned>(at);
    const unsigned row = unit / inner, col = unit - row * inner;
    const unsigned outer = row / count;
    const I wanted = index[row - outer * count];
    Unit value{};
    if (wanted >= 0 && wanted < shape.length) {
      value = x[(static_cast<long long>(outer) * shape.length + wanted) * inner + col];
    }
    y[unit] = value;
  }
}

template <typename T, typename I>
__device__ void gather_rows(const T* x, const I* index, T* y, const GatherShape& shape) {
  constexpr int kCount = Packet<T>::kCount;
  if ((phase_of(x) | phase_of(y)) == 0u && shape.inner % kCount == 0) {
    gather_units(reinterpret_cast<const uint4*>(x), index, reinterpret_cast<uint4*>(y), shape,
                 static_cast<unsigned>(shape.inner / kCount));
  } else {
    gather_units(x, index, y, shape, static_cast<unsigned>(shape.inner));
  }
}

template <typename T>
__device__ void gather_int32_body(const T* x, const int* index, T* y, const GatherShape& shape) {
  gather_rows(x, index, y, shape);
}
template <typename T>
__device__ void gather_int64_body(const T* x, const long long* index, T* y,
                                  const GatherShape& shape) {
  gather_rows(x, index, y, shape);
}

#define GPUEMU_GATHER(dtype, type)                                                                \
  GPUEMU_ENTRY(gather_int32, dtype, type,                                                         \
               (const T* x, const int* index, T* y, int outer, int length, int inner, int count), \
               (x, index, y, GatherShape{outer, length, inner, count}))                           \
  GPUEMU_ENTRY(                                                                                   \
      gather_int64, dtype, type,                                                                  \
      (const T* x, const long long* index, T* y, int outer, int length, int inner, int count),    \
      (x, index, y, GatherShape{outer, length, inner, count}))

GPUEMU_GATHER(float32, unsigned)
GPUEMU_GATHER(float64, unsigned long long)
GPUEMU_GATHER(float16, unsigned short)
GPUEMU_GATHER(bfloat16, unsigned short)
GPUEMU_GATHER(int8, unsigned char)
GPUEMU_GATHER(int16, unsigned short)
GPUEMU_GATHER(int32, unsigned)
GPUEMU_GATHER(int64, unsigned long long)
GPUEMU_GATHER(uint8, unsigned char)
GPUEMU_GATHER(uint16, unsigned short)
GPUEMU_GATHER(uint32, unsigned)
GPUEMU_GATHER(uint64, unsigned long long)
GPUEMU_GATHER(bool, unsigned char)

}  // namespace gpuemu_kernels
