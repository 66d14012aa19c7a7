// copy: y = x for up to four axes, each side with strides of its own. copy_saved: the same of n
// contiguous elements, which a training step keeps for its backward pass. Elements move as bits,
// so NaN payloads stay. Any one-dimensional grid and block.
#include "kernels/packets.cuh"
#include "kernels/strided.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void copy_saved_body(const T* x, T* saved, long long n) {
  const PacketRange range = packet_range(n, saved, x);
  const long long thread = thread_index(), threads = thread_count();
  for (long long i = thread; i < range.head; i += threads) saved[i] = x[i];
  for (long long p = thread; p < range.packets; p += threads) {
    const long long i = range.head + p * Packet<T>::kCount;
    Packet<T>::load(x + i).store(saved + i);
  }
  const long long rest = range.head + range.packets * Packet<T>::kCount;
  for (long long i = rest + thread; i < n; i += threads) saved[i] = x[i];
}

template <typename T>
__device__ void copy_body(const T* x, T* y, const Extent& extent, const Strides& x_strides,
                          const Strides& y_strides) {
  const long long n = extent.count();
  if (x_strides.packed(extent) && y_strides.packed(extent)) {
    copy_saved_body(x, y, n);
    return;
  }
  for (long long i = thread_index(); i < n; i += thread_count()) {
    long long index[4];
    unravel(i, extent, index);
    y[y_strides.offset(index)] = x[x_strides.offset(index)];
  }
}

#define GPUEMU_COPY(dtype, type)                                                               \
  GPUEMU_ENTRY(                                                                                \
      copy, dtype, type,                                                                       \
      (const T* x, T* y, long long d0, long long d1, long long d2, long long d3, long long x0, \
       long long x1, long long x2, long long x3, long long y0, long long y1, long long y2,     \
       long long y3),                                                                          \
      (x, y, Extent{{d0, d1, d2, d3}}, Strides{{x0, x1, x2, x3}}, Strides{{y0, y1, y2, y3}}))  \
  GPUEMU_ENTRY(copy_saved, dtype, type, (const T* x, T* saved, long long n), (x, saved, n))

GPUEMU_COPY(float32, unsigned)
GPUEMU_COPY(float64, unsigned long long)
GPUEMU_COPY(float16, unsigned short)
GPUEMU_COPY(bfloat16, unsigned short)
GPUEMU_COPY(int8, unsigned char)
GPUEMU_COPY(int16, unsigned short)
GPUEMU_COPY(int32, unsigned)
GPUEMU_COPY(int64, unsigned long long)
GPUEMU_COPY(uint8, unsigned char)
GPUEMU_COPY(uint16, unsigned short)
GPUEMU_COPY(uint32, unsigned)
GPUEMU_COPY(uint64, unsigned long long)
GPUEMU_COPY(bool, unsigned char)

}  // namespace gpuemu_kernels
