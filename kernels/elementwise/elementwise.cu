// The functions of the elementwise ops for up to four axes, each tensor with strides of its own,
// and for dtypes that have no entry: templates that are compiled for a function and a type when
// they are first called. The program has their text behind that of the ops' own modules, so that
// both compute with the same functions. Any one-dimensional grid and block.

namespace gpuemu_kernels {

/// What a function gets of an element: floats as everywhere, integers with all bits of 64 and their
/// sign, so that comparisons are theirs and what wraps there wraps in the narrow type, too.
template <typename T>
struct Element {
  static constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
  template <bool Signed, typename Unused = void>
  struct Wide {
    using Type = unsigned long long;
  };
  template <typename Unused>
  struct Wide<true, Unused> {
    using Type = long long;
  };
  using Computed = typename Wide<kSigned>::Type;
  using Wrapping = unsigned long long;
  static __device__ __forceinline__ Computed load(T value) { return static_cast<Computed>(value); }
  static __device__ __forceinline__ T store(unsigned long long value) {
    return static_cast<T>(value);
  }
};

template <typename T>
struct FloatElement {
  using Computed = Compute<T>;
  using Wrapping = Computed;
  static __device__ __forceinline__ Computed load(T value) { return widen(value); }
  static __device__ __forceinline__ T store(Computed value) { return narrow<T>(value); }
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
  using Wrapping = typename Element<T>::Wrapping;
  const Extent extent{{d0, d1, d2, d3}};
  const Strides left{{a0, a1, a2, a3}}, right{{b0, b1, b2, b3}}, to{{y0, y1, y2, y3}};
  for (long long i = thread_index(); i < extent.count(); i += thread_count()) {
    long long index[4];
    unravel(i, extent, index);
    const auto first = static_cast<Wrapping>(Element<T>::load(a[left.offset(index)]));
    const auto second = static_cast<Wrapping>(Element<T>::load(b[right.offset(index)]));
    y[to.offset(index)] = Element<T>::store(F()(first, second));
  }
}

}  // namespace gpuemu_kernels
