// Tensors of up to four axes with any strides, in elements; a stride of 0 repeats an axis.
#pragma once

namespace gpuemu_kernels {

struct Extent {
  long long at[4];

  __device__ __forceinline__ long long count() const { return at[0] * at[1] * at[2] * at[3]; }
};

struct Strides {
  long long at[4];

  /// The strides of a contiguous, row-major tensor; those of axes of size 1 do not matter.
  __device__ __forceinline__ bool packed(const Extent& extent) const {
    long long expected = 1;
    bool same = true;
#pragma unroll
    for (int axis = 3; axis >= 0; --axis) {
      same = same && (extent.at[axis] == 1 || at[axis] == expected);
      expected *= extent.at[axis];
    }
    return same;
  }
  __device__ __forceinline__ long long offset(const long long (&index)[4]) const {
    return index[0] * at[0] + index[1] * at[1] + index[2] * at[2] + index[3] * at[3];
  }
};

/// The position of element number `i` in row-major order.
__device__ __forceinline__ void unravel(long long i, const Extent& extent, long long (&index)[4]) {
  // Most tensors have fewer than 2^32 elements, and a division of 32 bits is several times cheaper.
  if (extent.count() <= 0xffffffffLL) {
    unsigned rest = static_cast<unsigned>(i);
#pragma unroll
    for (int axis = 3; axis > 0; --axis) {
      const unsigned size = static_cast<unsigned>(extent.at[axis]);
      index[axis] = rest % size;
      rest /= size;
    }
    index[0] = rest;
    return;
  }
#pragma unroll
  for (int axis = 3; axis > 0; --axis) {
    index[axis] = i % extent.at[axis];
    i /= extent.at[axis];
  }
  index[0] = i;
}

}  // namespace gpuemu_kernels
