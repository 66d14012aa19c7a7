// Vector versions of the operations of double_double.h, compiled once per host instruction set,
// which GPUEMU_ISA names (CMakeLists.txt). Here results are not checked for being finite until the
// end, and terms that are zero for exact operands are left out.
#include "runtime/emulator/shadow/simd_double_double.h"

#include "runtime/emulator/shadow/arithmetic.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace gpuemu::emulator::GPUEMU_ISA {
namespace {
#define GPUEMU_INLINE inline __attribute__((always_inline))

#if defined(__AVX512F__)
constexpr uint32_t kWidth = 8;
#elif defined(__AVX2__)
constexpr uint32_t kWidth = 4;
#else
constexpr uint32_t kWidth = 2;
#endif
using Doubles = double __attribute__((vector_size(8 * kWidth)));
using Longs = int64_t __attribute__((vector_size(8 * kWidth)));
using Words = uint32_t __attribute__((vector_size(4 * kWidth)));
using Floats = float __attribute__((vector_size(4 * kWidth)));

template <typename Vector, typename Scalar>
GPUEMU_INLINE Vector load(const Scalar* from) {
  Vector all;
  __builtin_memcpy(&all, from, sizeof all);
  return all;
}
template <typename Vector, typename Scalar>
GPUEMU_INLINE void store(Vector all, Scalar* to) {
  __builtin_memcpy(to, &all, sizeof all);
}
GPUEMU_INLINE Doubles splat(double value) { return value - Doubles{}; }
GPUEMU_INLINE Doubles magnitude(Doubles of) {
  return __builtin_bit_cast(Doubles, __builtin_bit_cast(Longs, of) & INT64_MAX);
}
GPUEMU_INLINE Doubles widened(const uint32_t* bits) {
  return __builtin_convertvector(load<Floats>(bits), Doubles);
}
GPUEMU_INLINE Doubles pick(Longs which, Doubles yes, Doubles no) { return which ? yes : no; }

/// Returns a bit per lane of a condition.
GPUEMU_INLINE uint32_t lanes_of(Longs condition) {
#if defined(__AVX512DQ__)
  return _mm512_movepi64_mask(__builtin_bit_cast(__m512i, condition));
#elif defined(__AVX2__)
  return static_cast<uint32_t>(_mm256_movemask_pd(__builtin_bit_cast(__m256d, condition)));
#else
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kWidth; ++i) bits |= static_cast<uint32_t>(condition[i] != 0) << i;
  return bits;
#endif
}
GPUEMU_INLINE Longs spread(uint32_t lanes) {
  Longs bits{};
  for (uint32_t i = 0; i < kWidth; ++i) bits[i] = int64_t{1} << i;
  return (bits & static_cast<int64_t>(lanes)) != 0;
}

GPUEMU_INLINE Doubles fused(Doubles a, Doubles b, Doubles c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#else
  for (uint32_t i = 0; i < kWidth; ++i) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
#endif
}

struct Pair {
  Doubles high, low;
};
GPUEMU_INLINE Pair two_sum(Doubles a, Doubles b) {
  const Doubles sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
GPUEMU_INLINE Pair quick_sum(Doubles a, Doubles b) {
  const Doubles sum = a + b;
  return {sum, b - (sum - a)};
}
GPUEMU_INLINE Pair two_product(Doubles a, Doubles b) {
  const Doubles product = a * b;
  return {product, fused(a, b, -product)};
}
GPUEMU_INLINE Pair negated(Pair a) { return {-a.high, -a.low}; }

/// Adds operands whose low part may be nonzero (LowA, LowB) or is zero.
template <bool LowA, bool LowB>
GPUEMU_INLINE Pair add(Pair a, Pair b) {
  Pair sum = two_sum(a.high, b.high);
  if constexpr (LowA && LowB) {
    const Pair rest = two_sum(a.low, b.low);
    sum = quick_sum(sum.high, sum.low + rest.high);
    return quick_sum(sum.high, sum.low + rest.low);
  }
  if constexpr (LowA) sum = quick_sum(sum.high, sum.low + a.low);
  if constexpr (LowB) sum = quick_sum(sum.high, sum.low + b.low);
  return {sum.high + sum.low, sum.low};  // Negative zero becomes positive zero, as above.
}
template <bool LowA, bool LowB>
GPUEMU_INLINE Pair multiply(Pair a, Pair b) {
  const Pair product = two_product(a.high, b.high);
  Doubles rest = product.low;
  if constexpr (LowA && LowB) rest = rest + (a.high * b.low + a.low * b.high);
  if constexpr (LowA && !LowB) rest = rest + a.low * b.high;
  if constexpr (!LowA && LowB) rest = rest + a.high * b.low;
  return quick_sum(product.high, rest);
}
template <bool LowA, bool LowB>
GPUEMU_INLINE Pair divide(Pair a, Pair b) {
  const Doubles first = a.high / b.high;
  const Pair rest = add<LowA, true>(a, negated(multiply<LowB, false>(b, {first, Doubles{}})));
  return quick_sum(first, rest.high / b.high);
}

template <bool Low>
GPUEMU_INLINE Pair at(const PairView& view, uint32_t lane) {
  return {load<Doubles>(view.high + lane), Low ? load<Doubles>(view.low + lane) : Doubles{}};
}
template <bool Low>
GPUEMU_INLINE Doubles bound_at(const PairView& view, uint32_t lane) {
  return Low ? load<Doubles>(view.bound + lane) : Doubles{};
}
template <bool LowA, bool LowB>
GPUEMU_INLINE Doubles product_bound(const PairViews& in, uint32_t lane, Pair a, Pair b) {
  const Doubles of_a = bound_at<LowA>(in[0], lane), of_b = bound_at<LowB>(in[1], lane);
  if constexpr (LowA && LowB) {
    return magnitude(a.high) * of_b + magnitude(b.high) * of_a + of_a * of_b;
  }
  if constexpr (LowA) return magnitude(b.high) * of_a;
  if constexpr (LowB) return magnitude(a.high) * of_b;
  return Doubles{};
}

/// Returns the smallest distance from 0 that a divisor may have.
template <bool Low>
GPUEMU_INLINE Doubles least_of(const PairView& view, uint32_t lane, Pair divisor) {
  const Doubles size = magnitude(divisor.high);
  if constexpr (!Low) return size;
  const Doubles left = size - bound_at<Low>(view, lane), least = splat(kLeastLeft) * size;
  return pick(left < least, least, left);
}

/// A result, and its bound from the operands' errors.
struct Made {
  Pair value;
  Doubles propagated;
};

template <bool A, bool B, bool C>
GPUEMU_INLINE Made sum_at(const PairViews& in, uint32_t lane) {
  return {add<A, B>(at<A>(in[0], lane), at<B>(in[1], lane)),
          bound_at<A>(in[0], lane) + bound_at<B>(in[1], lane)};
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made difference_at(const PairViews& in, uint32_t lane) {
  return {add<A, B>(at<A>(in[0], lane), negated(at<B>(in[1], lane))),
          bound_at<A>(in[0], lane) + bound_at<B>(in[1], lane)};
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made product_at(const PairViews& in, uint32_t lane) {
  const Pair a = at<A>(in[0], lane), b = at<B>(in[1], lane);
  return {multiply<A, B>(a, b), product_bound<A, B>(in, lane, a, b)};
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made fused_at(const PairViews& in, uint32_t lane) {
  const Pair a = at<A>(in[0], lane), b = at<B>(in[1], lane);
  return {add<true, C>(multiply<A, B>(a, b), at<C>(in[2], lane)),
          product_bound<A, B>(in, lane, a, b) + bound_at<C>(in[2], lane)};
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made quotient_at(const PairViews& in, uint32_t lane) {
  const Pair a = at<A>(in[0], lane), b = at<B>(in[1], lane), value = divide<A, B>(a, b);
  return {value, (bound_at<A>(in[0], lane) + magnitude(value.high) * bound_at<B>(in[1], lane)) /
                     least_of<B>(in[1], lane, b)};
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made inverse_at(const PairViews& in, uint32_t lane) {
  const Pair value = divide<false, A>({splat(1), Doubles{}}, at<A>(in[0], lane));
  return {value, magnitude(value.high) * bound_at<A>(in[0], lane) /
                     least_of<A>(in[0], lane, at<A>(in[0], lane))};
}
GPUEMU_INLINE Longs less(Pair a, Pair b) {
  return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low));
}
template <bool A, bool B, bool Greatest>
GPUEMU_INLINE Made extreme_at(const PairViews& in, uint32_t lane) {
  const Pair a = at<A>(in[0], lane), b = at<B>(in[1], lane);
  const Longs beaten = Greatest ? less(a, b) : less(b, a);
  const Longs takes_b = (a.high != a.high) | ((b.high == b.high) & beaten);
  const Doubles of_a = bound_at<A>(in[0], lane), of_b = bound_at<B>(in[1], lane);
  return {{pick(takes_b, b.high, a.high), pick(takes_b, b.low, a.low)},
          pick(of_a < of_b, of_b, of_a)};
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made least_at(const PairViews& in, uint32_t lane) {
  return extreme_at<A, B, false>(in, lane);
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made greatest_at(const PairViews& in, uint32_t lane) {
  return extreme_at<A, B, true>(in, lane);
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made negative_at(const PairViews& in, uint32_t lane) {
  return {negated(at<A>(in[0], lane)), bound_at<A>(in[0], lane)};
}
template <bool A, bool B, bool C>
GPUEMU_INLINE Made magnitude_at(const PairViews& in, uint32_t lane) {
  const Pair x = at<A>(in[0], lane);
  const Longs turns = x.high < 0;
  return {{pick(turns, -x.high, x.high), pick(turns, -x.low, x.low)}, bound_at<A>(in[0], lane)};
}

using At = Made (*)(const PairViews&, uint32_t);

/// Selected: the results are operands unchanged, even if they are not finite.
template <At of, bool Selected = false>
GPUEMU_INLINE bool all_lanes(const PairViews& in, const Operation& by, Lanes& out) {
  const Doubles unit = splat(by.unit), absolute = splat(by.absolute);
  Doubles wrong{};  // Becomes nonzero or NaN if a result is infinite or NaN.
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
    const Made made = of(in, lane);
    const Pair value = made.value;
    store(value.high, &out.high[lane]);
    store(value.low, &out.low[lane]);
    const Doubles bound = made.propagated + unit * magnitude(value.high) + absolute;
    store(bound, &out.bound[lane]);
    if (!Selected) {
      wrong = wrong + ((value.high - value.high) + (value.low - value.low) + (bound - bound));
    }
  }
  return lanes_of(wrong != 0) == 0;
}

/// Instantiates by which operands are exact: both, the first, the second or none.
#define GPUEMU_PAIRS(name, of, selected)                                            \
  bool name(const PairViews& in, const Operation& by, Lanes& out) {                 \
    if (in[0].exact)                                                                \
      return in[1].exact ? all_lanes<of<false, false, true>, selected>(in, by, out) \
                         : all_lanes<of<false, true, true>, selected>(in, by, out); \
    return in[1].exact ? all_lanes<of<true, false, true>, selected>(in, by, out)    \
                       : all_lanes<of<true, true, true>, selected>(in, by, out);    \
  }
GPUEMU_PAIRS(add_pairs, sum_at, false)
GPUEMU_PAIRS(subtract_pairs, difference_at, false)
GPUEMU_PAIRS(multiply_pairs, product_at, false)
GPUEMU_PAIRS(divide_pairs, quotient_at, false)
GPUEMU_PAIRS(least_pairs, least_at, true)
GPUEMU_PAIRS(greatest_pairs, greatest_at, true)
GPUEMU_PAIRS(fuse_pairs_to_any, fused_at, false)
#undef GPUEMU_PAIRS
bool fuse_pairs(const PairViews& in, const Operation& by, Lanes& out) {
  if (!in[2].exact) return fuse_pairs_to_any(in, by, out);
  if (in[0].exact) {
    return in[1].exact ? all_lanes<fused_at<false, false, false>>(in, by, out)
                       : all_lanes<fused_at<false, true, false>>(in, by, out);
  }
  return in[1].exact ? all_lanes<fused_at<true, false, false>>(in, by, out)
                     : all_lanes<fused_at<true, true, false>>(in, by, out);
}
bool invert_pairs(const PairViews& in, const Operation& by, Lanes& out) {
  return in[0].exact ? all_lanes<inverse_at<false, true, true>>(in, by, out)
                     : all_lanes<inverse_at<true, true, true>>(in, by, out);
}
bool negate_pairs(const PairViews& in, const Operation& by, Lanes& out) {
  return in[0].exact ? all_lanes<negative_at<false, true, true>, true>(in, by, out)
                     : all_lanes<negative_at<true, true, true>, true>(in, by, out);
}
bool absolute_pairs(const PairViews& in, const Operation& by, Lanes& out) {
  return in[0].exact ? all_lanes<magnitude_at<false, true, true>, true>(in, by, out)
                     : all_lanes<magnitude_at<true, true, true>, true>(in, by, out);
}

void widen(const uint32_t* bits, double* to) {
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) store(widened(bits + lane), to + lane);
}

GPUEMU_INLINE Words held_at(const Plane& plane, uint32_t lane) {
  return load<Words>(&plane.held[lane]);
}
/// Words per vector, for comparisons with a bit per word.
constexpr uint32_t kWide = 2 * kWidth;
using WideWords = uint32_t __attribute__((vector_size(4 * kWide)));
GPUEMU_INLINE uint32_t same_words(WideWords a, WideWords b) {
#if defined(__AVX512F__)
  return _mm512_cmpeq_epi32_mask(__builtin_bit_cast(__m512i, a), __builtin_bit_cast(__m512i, b));
#elif defined(__AVX2__)
  return static_cast<uint32_t>(_mm256_movemask_ps(__builtin_bit_cast(__m256, a == b)));
#else
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kWide; ++i) bits |= static_cast<uint32_t>(a[i] == b[i]) << i;
  return bits;
#endif
}
GPUEMU_INLINE WideWords splat(Held held) { return WideWords{} + static_cast<uint32_t>(held); }

uint32_t live(const uint32_t* bits, const Plane& plane) {
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < kLanes; lane += kWide) {
    lanes |= (same_words(load<WideWords>(&plane.held[lane]), splat(Held::Four)) &
              same_words(load<WideWords>(&plane.bits[lane]), load<WideWords>(bits + lane)))
             << lane;
  }
  return lanes;
}
uint32_t others(const Plane& plane) {
  uint32_t usual = 0;
  for (uint32_t lane = 0; lane < kLanes; lane += kWide) {
    const auto held = load<WideWords>(&plane.held[lane]);
    usual |= (same_words(held, splat(Held::Four)) | same_words(held, splat(Held::Nothing))) << lane;
  }
  return ~usual;
}

LaneShape shape(const uint64_t* addresses, uint32_t mask, uint32_t bytes) {
  const auto first = static_cast<uint32_t>(__builtin_ctz(mask));
  const auto step = static_cast<int64_t>(bytes);
  const auto begin = static_cast<int64_t>(addresses[first]);
  Longs row = Longs{} + (begin - step * first);
  for (uint32_t i = 0; i < kWidth; ++i) row[i] += step * i;
  Longs not_row{}, not_same{};
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
    const Longs of = load<Longs>(addresses + lane), asked = spread(mask >> lane);
    not_row |= (of ^ (row + step * lane)) & asked;
    not_same |= (of ^ begin) & asked;
  }
  if (lanes_of(not_same != 0) == 0) return LaneShape::Same;
  return lanes_of(not_row != 0) == 0 ? LaneShape::Row : LaneShape::Apart;
}

void mix(const uint32_t* bits, const Plane& plane, uint32_t live, Lanes& to) {
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
    const Longs of_plane = spread(live >> lane);
    store(pick(of_plane, load<Doubles>(&plane.high[lane]), widened(bits + lane)), &to.high[lane]);
    store(pick(of_plane, load<Doubles>(&plane.low[lane]), Doubles{}), &to.low[lane]);
    store(pick(of_plane, load<Doubles>(&plane.bound[lane]), Doubles{}), &to.bound[lane]);
  }
}

GPUEMU_INLINE void blend(const double* from, Longs which, double* to) {
  store(pick(which, load<Doubles>(from), load<Doubles>(to)), to);
}
GPUEMU_INLINE void blend(Words from, Longs which, uint32_t* to) {
  const Words narrow = __builtin_convertvector(which, Words);
  store((from & narrow) | (load<Words>(to) & ~narrow), to);
}

void keep(const Lanes& results, const uint32_t* bits, uint32_t mask, Plane& plane) {
  auto* held = reinterpret_cast<uint32_t*>(&plane.held[0]);
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
    const Longs which = spread(mask >> lane);
    blend(&results.high[lane], which, &plane.high[lane]);
    blend(&results.low[lane], which, &plane.low[lane]);
    blend(&results.bound[lane], which, &plane.bound[lane]);
    blend(load<Words>(bits + lane), which, &plane.bits[lane]);
    blend(Words{}, which, &plane.bits_high[lane]);
    blend(Words{}, which, &plane.node[lane]);
    blend(Words{} + static_cast<uint32_t>(Held::Four), which, held + lane);
  }
}

void assign(const Plane& from, uint32_t mask, Plane& to) {
  auto* held = reinterpret_cast<uint32_t*>(&to.held[0]);
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
    const Longs which = spread(mask >> lane);
    blend(&from.high[lane], which, &to.high[lane]);
    blend(&from.low[lane], which, &to.low[lane]);
    blend(&from.bound[lane], which, &to.bound[lane]);
    blend(load<Words>(&from.bits[lane]), which, &to.bits[lane]);
    blend(load<Words>(&from.bits_high[lane]), which, &to.bits_high[lane]);
    blend(load<Words>(&from.node[lane]), which, &to.node[lane]);
    blend(held_at(from, lane), which, held + lane);
  }
}

void clear(uint32_t mask, Plane& plane) {
  auto* held = reinterpret_cast<uint32_t*>(&plane.held[0]);
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
    blend(Words{} + static_cast<uint32_t>(Held::Nothing), spread(mask >> lane), held + lane);
  }
}

uint32_t far_off(const uint32_t* bits, const Lanes& results, double least) {
  uint32_t far = 0;
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
    const Doubles high = load<Doubles>(&results.high[lane]);
    const Doubles gap =
        magnitude((widened(bits + lane) - high) - load<Doubles>(&results.low[lane]));
    far |= lanes_of(~(gap <= splat(least) * magnitude(high))) << lane;
  }
  return far;
}

GPUEMU_INLINE Pair pair_at(const PairView& view, uint32_t lane) {
  return view.exact ? at<false>(view, lane) : at<true>(view, lane);
}
uint32_t reordered(const uint32_t* a_bits, const uint32_t* b_bits, const PairView& a,
                   const PairView& b) {
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < kLanes; lane += kWidth) {
    const Pair x = pair_at(a, lane), y = pair_at(b, lane);
    const Doubles p = widened(a_bits + lane), q = widened(b_bits + lane);
    lanes |= lanes_of((less(x, y) ^ (p < q)) | (less(y, x) ^ (q < p))) << lane;
  }
  return lanes;
}
}  // namespace

const PairFunctions& pair_functions() {
  static constexpr PairFunctions kAll = {
      widen,        live,           others,         clear,        shape,
      mix,          keep,           assign,         far_off,      reordered,
      add_pairs,    subtract_pairs, multiply_pairs, fuse_pairs,   divide_pairs,
      invert_pairs, least_pairs,    greatest_pairs, negate_pairs, absolute_pairs};
  return kAll;
}
}  // namespace gpuemu::emulator::GPUEMU_ISA
