// add, sub, mul, div: y = a OP b of row-major y with up to four axes; a and b have any strides, 0
// where they repeat (broadcasting). Integers wrap. Any one-dimensional grid and block.
#include "kernels/packets.cuh"
#include "kernels/strided.cuh"

namespace gpuemu_kernels {

struct Add {
  template <typename C>
  __device__ __forceinline__ C operator()(C a, C b) const {
    return a + b;
  }
};
struct Sub {
  template <typename C>
  __device__ __forceinline__ C operator()(C a, C b) const {
    return a - b;
  }
};
struct Mul {
  template <typename C>
  __device__ __forceinline__ C operator()(C a, C b) const {
    return a * b;
  }
};
struct Div {
  template <typename C>
  __device__ __forceinline__ C operator()(C a, C b) const {
    return a / b;
  }
};

template <typename F, typename T>
__device__ void combine(F f, const T* a, const T* b, T* y, const Extent& extent,
                        const Strides& a_strides, const Strides& b_strides) {
  const long long n = extent.count();
  if (a_strides.packed(extent) && b_strides.packed(extent)) {
    map_elements(thread_index(), thread_count(), n, f, y, a, b);
    return;
  }
  for (long long i = thread_index(); i < n; i += thread_count()) {
    long long index[4];
    unravel(i, extent, index);
    y[i] = narrow<T>(f(widen(a[a_strides.offset(index)]), widen(b[b_strides.offset(index)])));
  }
}

#define GPUEMU_COMBINE(name, Function)                                              \
  template <typename T>                                                             \
  __device__ void name##_body(const T* a, const T* b, T* y, const Extent& extent,   \
                              const Strides& a_strides, const Strides& b_strides) { \
    combine(Function(), a, b, y, extent, a_strides, b_strides);                     \
  }
#define GPUEMU_COMBINE_PARAMS                                                            \
  (const T* a, const T* b, T* y, long long d0, long long d1, long long d2, long long d3, \
   long long a0, long long a1, long long a2, long long a3, long long b0, long long b1,   \
   long long b2, long long b3)
#define GPUEMU_COMBINE_ARGS \
  (a, b, y, Extent{{d0, d1, d2, d3}}, Strides{{a0, a1, a2, a3}}, Strides{{b0, b1, b2, b3}})
#define GPUEMU_COMBINE_INTEGERS(name)                                        \
  GPUEMU_ENTRY(name, int32, int, GPUEMU_COMBINE_PARAMS, GPUEMU_COMBINE_ARGS) \
  GPUEMU_ENTRY(name, int64, long long, GPUEMU_COMBINE_PARAMS, GPUEMU_COMBINE_ARGS)

GPUEMU_COMBINE(add, Add)
GPUEMU_COMBINE(sub, Sub)
GPUEMU_COMBINE(mul, Mul)
GPUEMU_COMBINE(div, Div)
GPUEMU_ENTRIES(add, GPUEMU_COMBINE_PARAMS, GPUEMU_COMBINE_ARGS)
GPUEMU_ENTRIES(sub, GPUEMU_COMBINE_PARAMS, GPUEMU_COMBINE_ARGS)
GPUEMU_ENTRIES(mul, GPUEMU_COMBINE_PARAMS, GPUEMU_COMBINE_ARGS)
GPUEMU_ENTRIES(div, GPUEMU_COMBINE_PARAMS, GPUEMU_COMBINE_ARGS)
GPUEMU_COMBINE_INTEGERS(add)
GPUEMU_COMBINE_INTEGERS(sub)
GPUEMU_COMBINE_INTEGERS(mul)

}  // namespace gpuemu_kernels
