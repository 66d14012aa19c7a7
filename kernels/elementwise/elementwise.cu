// The functions of the elementwise ops for up to four axes, each tensor with strides of its own,
// and for dtypes that have no entry: templates that are compiled for a function and a type when
// they are first called. The program has their text behind that of the ops' own modules, so that
// both compute with the same functions. Any one-dimensional grid and block.

namespace gpuemu_kernels {

/// What a function gets of an element: floats as everywhere, integers as 64 bits that wrap, of
/// which the low ones are the result in every width.
template <typename T>
struct Element {
  using Computed = unsigned long long;
  static __device__ __forceinline__ Computed load(T value) { return static_cast<Computed>(value); }
  static __device__ __forceinline__ T store(Computed value) { return static_cast<T>(value); }
};
template <typename T>
struct FloatElement {
  static __device__ __forceinline__ Compute<T> load(T value) { return widen(value); }
  static __device__ __forceinline__ T store(Compute<T> value) { return narrow<T>(value); }
};
template <>
struct Element<float> : FloatElement<float> {};
template <>
struct Element<double> : FloatElement<double> {};
template <>
struct Element<__half> : FloatElement<__half> {};
template <>
struct Element<__nv_bfloat16> : FloatElement<__nv_bfloat16> {};

/// y = F(x).
template <typename F, typename T>
__global__ void map_strided(const T* x, T* y, long long d0, long long d1, long long d2,
                            long long d3, long long x0, long long x1, long long x2, long long x3,
                            long long y0, long long y1, long long y2, long long y3) {
  const Extent extent{{d0, d1, d2, d3}};
  const Strides from{{x0, x1, x2, x3}}, to{{y0, y1, y2, y3}};
  for (long long i = thread_index(); i < extent.count(); i += thread_count()) {
    long long index[4];
    unravel(i, extent, index);
    y[to.offset(index)] = Element<T>::store(F()(Element<T>::load(x[from.offset(index)])));
  }
}

/// y = F(a, b).
template <typename F, typename T>
__global__ void combine_strided(const T* a, const T* b, T* y, long long d0, long long d1,
                                long long d2, long long d3, long long a0, long long a1,
                                long long a2, long long a3, long long b0, long long b1,
                                long long b2, long long b3, long long y0, long long y1,
                                long long y2, long long y3) {
  const Extent extent{{d0, d1, d2, d3}};
  const Strides left{{a0, a1, a2, a3}}, right{{b0, b1, b2, b3}}, to{{y0, y1, y2, y3}};
  for (long long i = thread_index(); i < extent.count(); i += thread_count()) {
    long long index[4];
    unravel(i, extent, index);
    y[to.offset(index)] = Element<T>::store(
        F()(Element<T>::load(a[left.offset(index)]), Element<T>::load(b[right.offset(index)])));
  }
}

}  // namespace gpuemu_kernels
