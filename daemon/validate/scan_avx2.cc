// The vector forms of a block, for processors with AVX2: the only intrinsics of this folder.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/base/check.h"
#include "daemon/validate/formats.h"
#include "daemon/validate/scan_block.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define GPUEMU_AVX2 __attribute__((target("avx2")))
#define GPUEMU_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace gpuemu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kEdgesAtOnce = 6;  // Two for each percentile; their counts stay in registers.

// --- Lanes to scalars

GPUEMU_AVX2_INLINE double sum_of(__m256d lanes) {
  alignas(32) std::array<double, 4> values;
  _mm256_store_pd(values.data(), lanes);
  return (values[0] + values[1]) + (values[2] + values[3]);
}
GPUEMU_AVX2_INLINE double max_of(__m256d lanes) {
  alignas(32) std::array<double, 4> values;
  _mm256_store_pd(values.data(), lanes);
  return std::max(std::max(values[0], values[1]), std::max(values[2], values[3]));
}
GPUEMU_AVX2_INLINE std::array<uint64_t, 4> numbers_of(__m256i lanes) {
  alignas(32) std::array<uint64_t, 4> values;
  _mm256_store_si256(reinterpret_cast<__m256i*>(values.data()), lanes);
  return values;
}
GPUEMU_AVX2_INLINE uint64_t sum_of_32(__m256i lanes) {
  uint64_t sum = 0;
  for (const uint64_t pair : numbers_of(lanes)) sum += (pair & 0xFFFFFFFFu) + (pair >> 32);
  return sum;
}
GPUEMU_AVX2_INLINE uint64_t max_of_32(__m256i lanes) {
  uint64_t largest = 0;
  for (const uint64_t pair : numbers_of(lanes)) {
    largest = std::max(largest, std::max(pair & 0xFFFFFFFFu, pair >> 32));
  }
  return largest;
}

GPUEMU_AVX2_INLINE __m256d magnitude(__m256d value) {
  return _mm256_andnot_pd(_mm256_set1_pd(-0.0), value);
}
GPUEMU_AVX2_INLINE __m256 magnitude(__m256 value) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), value);
}
GPUEMU_AVX2_INLINE __m256i load_bits(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// --- Distances in units in the last place: both sides become their place in the order of the
// output's format (order_number), a negative one as the complement of its magnitude.

struct Ulps {
  uint64_t max = 0;
  double sum = 0;
};

GPUEMU_AVX2_INLINE __m256i in_order_32(__m256i bits) {
  return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
}

GPUEMU_AVX2_INLINE __m256i in_order_64(__m256i bits) {
  const __m256i negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), bits);
  return _mm256_xor_si256(bits, _mm256_srli_epi64(negative, 1));
}

/// Four 16-bit patterns.
GPUEMU_AVX2_INLINE __m256i in_order_16(const std::byte* from) {
  const __m256i bits =
      _mm256_cvtepu16_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  const __m256i sign_bit = _mm256_set1_epi64x(0x8000);
  const __m256i negative = _mm256_cmpeq_epi64(_mm256_and_si256(bits, sign_bit), sign_bit);
  return _mm256_xor_si256(_mm256_andnot_si256(sign_bit, bits), negative);
}

/// order_number of float64 values in a narrower format; the constants of that format.
struct Rounding {
  __m256d min_normal;
  __m256i runs_from, to_digits, infinity;
  __m128i shift;
};

GPUEMU_AVX2 Rounding rounding_to(const FloatFormat& format) {
  const auto min_normal = std::bit_cast<int64_t>(format.min_normal);
  Rounding to;
  to.min_normal = _mm256_set1_pd(format.min_normal);
  to.runs_from = _mm256_set1_epi64x(min_normal);
  // Of a power of two, this minus its bits is the bits of (one ulp there) to the power of -1.
  to.to_digits = _mm256_set1_epi64x(
      static_cast<int64_t>(static_cast<uint64_t>(2045 + format.precision) << 52));
  to.infinity = _mm256_set1_epi64x(order_number(format, format.max) + 1);
  to.shift = _mm_cvtsi32_si128(53 - format.precision);
  return to;
}

GPUEMU_AVX2_INLINE __m256i in_order_rounded(__m256d value, const Rounding& to) {
  const __m256d exponent_bits = _mm256_castsi256_pd(_mm256_set1_epi64x(int64_t{0x7FF} << 52));
  const __m256i power =
      _mm256_castpd_si256(_mm256_max_pd(_mm256_and_pd(value, exponent_bits), to.min_normal));
  const __m256d per_ulp = _mm256_castsi256_pd(_mm256_sub_epi64(to.to_digits, power));
  // Added to 2^52, the hardware rounds to a whole number and leaves it in the low bits.
  const __m256d shifter = _mm256_set1_pd(0x1p52);
  const __m256d digits = _mm256_add_pd(_mm256_mul_pd(magnitude(value), per_ulp), shifter);
  const __m256i runs = _mm256_srl_epi64(_mm256_sub_epi64(power, to.runs_from), to.shift);
  const __m256i place = _mm256_add_epi64(
      runs, _mm256_sub_epi64(_mm256_castpd_si256(digits), _mm256_castpd_si256(shifter)));
  const __m256i capped =
      _mm256_blendv_epi8(place, to.infinity, _mm256_cmpgt_epi64(place, to.infinity));
  const __m256i negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), _mm256_castpd_si256(value));
  return _mm256_xor_si256(capped, negative);
}

/// The difference as an unsigned number.
GPUEMU_AVX2_INLINE __m256i apart_64(__m256i left, __m256i right) {
  const __m256i swap = _mm256_cmpgt_epi64(right, left);
  return _mm256_sub_epi64(_mm256_xor_si256(_mm256_sub_epi64(left, right), swap), swap);
}

GPUEMU_AVX2 Ulps ulps_float32(const float* output, const WideBlock& block) {
  __m256i largest = _mm256_setzero_si256(), sums = largest;
  for (size_t i = 0; i < block.count; i += 8) {
    const double* reference = block.reference.data() + i;
    const __m256 rounded = _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(reference + 4)),
                                           _mm256_cvtpd_ps(_mm256_loadu_pd(reference)));
    const __m256i left = in_order_32(load_bits(output + i));
    const __m256i right = in_order_32(_mm256_castps_si256(rounded));
    const __m256i distance =
        _mm256_sub_epi32(_mm256_max_epi32(left, right), _mm256_min_epi32(left, right));
    largest = _mm256_max_epu32(largest, distance);
    const __m256i even = _mm256_and_si256(distance, _mm256_set1_epi64x(0xFFFFFFFF));
    sums = _mm256_add_epi64(sums, _mm256_add_epi64(even, _mm256_srli_epi64(distance, 32)));
  }
  Ulps ulps{max_of_32(largest), 0};
  for (const uint64_t sum : numbers_of(sums)) ulps.sum += static_cast<double>(sum);
  return ulps;
}

GPUEMU_AVX2 Ulps ulps_16(const std::byte* output, const FloatFormat& format,
                         const WideBlock& block) {
  const Rounding rounding = rounding_to(format);
  __m256i largest = _mm256_setzero_si256(), sums = largest;
  for (size_t i = 0; i < block.count; i += 4) {
    const __m256i left = in_order_16(output + 2 * i);
    const __m256i right = in_order_rounded(_mm256_loadu_pd(block.reference.data() + i), rounding);
    const __m256i distance = apart_64(left, right);
    largest = _mm256_max_epu32(largest, distance);
    sums = _mm256_add_epi64(sums, distance);
  }
  Ulps ulps{max_of_32(largest), 0};
  for (const uint64_t sum : numbers_of(sums)) ulps.sum += static_cast<double>(sum);
  return ulps;
}

GPUEMU_AVX2 Ulps ulps_float64(const WideBlock& block) {
  Ulps ulps;
  alignas(32) std::array<uint64_t, 4> apart;
  for (size_t i = 0; i < block.count; i += 4) {
    const __m256i left = in_order_64(load_bits(block.output.data() + i));
    const __m256i right = in_order_64(load_bits(block.reference.data() + i));
    _mm256_store_si256(reinterpret_cast<__m256i*>(apart.data()), apart_64(left, right));
    for (const uint64_t distance : apart) {
      ulps.max = std::max(ulps.max, distance);
      ulps.sum += static_cast<double>(distance);
    }
  }
  return ulps;
}

Ulps ulps_of(const TensorView& output, const WideBlock& block) {
  const std::byte* data = output.data.data() + block.first * byte_size(output.dtype);
  switch (output.dtype) {
    case DType::Float32:
      return ulps_float32(reinterpret_cast<const float*>(data), block);
    case DType::Float64:
      return ulps_float64(block);
    default:
      return ulps_16(data, format_of(output.dtype), block);
  }
}

// --- Percentiles

/// Bit i: whether error i of the block is to be kept.
using KeptBits = std::array<uint64_t, kBlockElements / 64>;

/// One group of edges. A value lies in a kept range when it lies below an odd number of the ends of
/// kept ranges (ascending, disjoint).
struct EdgeGroup {
  std::array<double, kEdgesAtOnce> at;
  std::array<uint64_t, kEdgesAtOnce> ends{};  ///< All ones where the edge is such an end.
  size_t first = 0, count = 0;
};

EdgeGroup group_of(const Cells& cells, size_t first) {
  EdgeGroup group;
  group.first = first;
  group.count = std::min(kEdgesAtOnce, cells.edges.size() - first);
  group.at.fill(cells.edges[first]);
  for (size_t i = 0; i < group.count; ++i) {
    group.at[i] = cells.edges[first + i];
    group.ends[i] = cells.ends[first + i] ? ~uint64_t{0} : 0;
  }
  return group;
}

/// Counts the errors below each edge of the group and, with kKeep, flips the bits of those below an
/// odd number of ends.
template <bool kKeep>
GPUEMU_AVX2 void count_below(const WideBlock& block, const EdgeGroup& group, CellCounts& counts,
                             KeptBits& kept) {
  __m256d at[kEdgesAtOnce], ends[kEdgesAtOnce];
  __m256i below[kEdgesAtOnce];
  for (size_t k = 0; k < kEdgesAtOnce; ++k) {
    at[k] = _mm256_set1_pd(group.at[k]);
    ends[k] = _mm256_castsi256_pd(_mm256_set1_epi64x(static_cast<int64_t>(group.ends[k])));
    below[k] = _mm256_setzero_si256();
  }
  for (size_t i = 0; i < block.count; i += 4) {
    const __m256d error = _mm256_load_pd(block.error.data() + i);
    __m256d odd = _mm256_setzero_pd();
    for (size_t k = 0; k < kEdgesAtOnce; ++k) {
      const __m256d less = _mm256_cmp_pd(error, at[k], _CMP_LT_OQ);
      below[k] = _mm256_sub_epi64(below[k], _mm256_castpd_si256(less));
      if constexpr (kKeep) odd = _mm256_xor_pd(odd, _mm256_and_pd(less, ends[k]));
    }
    if constexpr (kKeep) {
      kept[i / 64] ^= static_cast<uint64_t>(_mm256_movemask_pd(odd)) << (i % 64);
    }
  }
  for (size_t k = 0; k < group.count; ++k) {
    for (const uint64_t lane : numbers_of(below[k])) counts.below[group.first + k] += lane;
  }
}

template <typename T>
void keep(const T* errors, size_t count, const KeptBits& bits, const Cells& cells,
          CellCounts& counts) {
  for (size_t i = 0; i < count; i += 64) {
    const size_t rest = std::min<size_t>(count - i, 64);
    uint64_t left = bits[i / 64] & (~uint64_t{0} >> (64 - rest));
    for (; left != 0; left &= left - 1) {
      const auto error =
          static_cast<double>(errors[i + static_cast<size_t>(std::countr_zero(left))]);
      size_t range = 0;
      while (!(error < cells.kept[range].to)) ++range;
      counts.kept[range].push_back(error);
    }
  }
}

/// Below infinity lies every error of a block; an open last range starts with all bits set.
KeptBits kept_at_first(const Cells& cells) {
  KeptBits kept;
  const bool open = !cells.kept.empty() && cells.kept.back().to == kInfinity;
  kept.fill(open ? ~uint64_t{0} : 0);
  return kept;
}

void count_errors(const WideBlock& block, const Cells& cells, CellCounts& counts) {
  counts.finite += block.count;
  KeptBits kept = kept_at_first(cells);
  for (size_t edge = 0; edge < cells.edges.size(); edge += kEdgesAtOnce) {
    const EdgeGroup group = group_of(cells, edge);
    if (cells.kept.empty()) {
      count_below<false>(block, group, counts, kept);
    } else {
      count_below<true>(block, group, counts, kept);
    }
  }
  if (!cells.kept.empty()) keep(block.error.data(), block.count, kept, cells, counts);
}

// --- A block in float64

struct WideTotals {
  double sum_abs = 0, max_abs = 0, sum_rel = 0, max_rel = 0;
  double max_at_zero = 0;  ///< Largest error where the reference is 0.
  uint64_t zeros = 0;
  bool judge = false;  ///< Some error may be a fault or raise the worst use.
};

/// Fills block.error. Wrong (with a sum that is not finite) when an error is not finite.
GPUEMU_AVX2 WideTotals measure(WideBlock& block, double threshold) {
  const __m256d none = _mm256_setzero_pd(), use = _mm256_set1_pd(threshold);
  const __m256d smallest = _mm256_set1_pd(std::numeric_limits<double>::denorm_min());
  __m256d sum_abs = none, max_abs = none, sum_rel = none, max_rel = none, at_zero = none;
  __m256d judge = none;
  __m256i zeros = _mm256_setzero_si256();
  for (size_t i = 0; i < block.count; i += 4) {
    const __m256d reference = _mm256_loadu_pd(block.reference.data() + i);
    const __m256d bound = _mm256_load_pd(block.bound.data() + i);
    const __m256d error =
        magnitude(_mm256_sub_pd(_mm256_loadu_pd(block.output.data() + i), reference));
    _mm256_store_pd(block.error.data() + i, error);
    sum_abs = _mm256_add_pd(sum_abs, error);
    max_abs = _mm256_max_pd(max_abs, error);
    const __m256d zero = _mm256_cmp_pd(reference, none, _CMP_EQ_OQ);
    const __m256d relative = _mm256_andnot_pd(zero, _mm256_div_pd(error, magnitude(reference)));
    sum_rel = _mm256_add_pd(sum_rel, relative);
    max_rel = _mm256_max_pd(max_rel, relative);
    at_zero = _mm256_max_pd(at_zero, _mm256_and_pd(zero, error));
    zeros = _mm256_sub_epi64(zeros, _mm256_castpd_si256(zero));
    const __m256d over = _mm256_cmp_pd(error, bound, _CMP_NLE_UQ);
    // Equality counts where the product is subnormal and may have been rounded up; zero never does.
    const __m256d limit = _mm256_max_pd(_mm256_mul_pd(use, bound), smallest);
    const __m256d worse = _mm256_cmp_pd(error, limit, _CMP_GE_OQ);
    judge = _mm256_or_pd(judge, _mm256_or_pd(over, worse));
  }
  WideTotals totals{sum_of(sum_abs),
                    max_of(max_abs),
                    sum_of(sum_rel),
                    max_of(max_rel),
                    max_of(at_zero),
                    0,
                    _mm256_movemask_pd(judge) != 0};
  for (const uint64_t lane : numbers_of(zeros)) totals.zeros += lane;
  return totals;
}

// --- A block in float32

/// What lets float32 arithmetic decide: an error below these needs no closer look.
struct FloatLimits32 {
  float atol = 0, rtol = 0;  ///< atol + rtol |r| in float32 never exceeds what it stands for, or 0.
  float relative = 0;        ///< Up to it no relative error raises a maximum.
};

float float_below(double value) {
  const auto rounded = static_cast<float>(value);
  return static_cast<double>(rounded) <= value ? rounded : std::nextafter(rounded, -1.0f);
}
float float_above(double value) {
  const auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) >= value) return rounded;
  return std::nextafter(rounded, std::numeric_limits<float>::infinity());
}

FloatLimits32 limits_of(const BlockRun& run, const Scan& scan) {
  // Larger than all roundings of a product and a sum, or of a quotient, in float32.
  constexpr double kSlack = 1 - 0x1p-20;
  const Bound& bound = run.judge.bound();
  FloatLimits32 limits;
  limits.relative = float_below(std::min(scan.max_rel, scan.max_rel_diff) * kSlack);
  if (bound.rtol() == 0) {
    // The use grows with the error alone. Errors in whole units in the last place reach the worst
    // one often; that must not count as worse.
    limits.atol = float_below(std::min(scan.worst_error, bound.atol()));
    return limits;
  }
  const double use = std::min(use_threshold(scan), 1.0) * kSlack;
  limits.rtol = float_below(use * bound.rtol());
  // What the product may be rounded up by where it is subnormal.
  limits.atol = float_below(use * bound.atol()) - 0x1p-148f;
  return limits;
}

struct FloatTotals {
  __m256d sum_abs, sum_rel;
  __m256 max_abs, max_rel, over;
  __m256i max_ulp, sum_ulp, zeros;
};

GPUEMU_AVX2_INLINE __m256d add_wide(__m256d sum, __m256 values) {
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(values));
  const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1));
  return _mm256_add_pd(sum, _mm256_add_pd(low, high));
}

/// Asks for memory ahead of its use; the processor's own prefetcher stops at the end of a page. An
/// address, not a pointer: near the end it lies outside the tensor, which a prefetch allows.
GPUEMU_AVX2_INLINE void ask_ahead(const float* at) {
  constexpr uintptr_t kAhead = 4096;
  _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(at) + kAhead),
               _MM_HINT_T0);
}

/// Writes the errors too. Wrong where output and reference are more than a factor of two apart,
/// which max_ulp tells.
GPUEMU_AVX2 FloatTotals measure(const float* output, const float* reference, size_t count,
                                const FloatLimits32& limits, float* errors) {
  const __m256 atol = _mm256_set1_ps(limits.atol), rtol = _mm256_set1_ps(limits.rtol);
  FloatTotals totals{};
  for (size_t i = 0; i < count; i += 8) {
    ask_ahead(output + i);
    ask_ahead(reference + i);
    const __m256 o = _mm256_loadu_ps(output + i), r = _mm256_loadu_ps(reference + i);
    const __m256 error = magnitude(_mm256_sub_ps(o, r)), size = magnitude(r);
    _mm256_store_ps(errors + i, error);
    totals.sum_abs = add_wide(totals.sum_abs, error);
    totals.max_abs = _mm256_max_ps(totals.max_abs, error);
    const __m256 sum = _mm256_add_ps(_mm256_mul_ps(rtol, size), atol);
    const __m256 limit = _mm256_max_ps(sum, _mm256_setzero_ps());
    totals.over = _mm256_or_ps(totals.over, _mm256_cmp_ps(error, limit, _CMP_NLE_UQ));
    // 0 / 0 is NaN, which max and the mask ignore; anything else over 0 stays as infinity.
    const __m256 quotient = _mm256_div_ps(error, size);
    const __m256 zero = _mm256_cmp_ps(size, _mm256_setzero_ps(), _CMP_EQ_OQ);
    totals.max_rel = _mm256_max_ps(quotient, totals.max_rel);
    totals.sum_rel = add_wide(totals.sum_rel, _mm256_andnot_ps(zero, quotient));
    totals.zeros = _mm256_sub_epi32(totals.zeros, _mm256_castps_si256(zero));
    // Of numbers of one sign; of two signs it is above 2^23 as well.
    const __m256i ulps =
        _mm256_abs_epi32(_mm256_sub_epi32(_mm256_castps_si256(o), _mm256_castps_si256(r)));
    totals.max_ulp = _mm256_max_epu32(totals.max_ulp, ulps);
    totals.sum_ulp = _mm256_add_epi32(totals.sum_ulp, ulps);
  }
  return totals;
}

template <bool kKeep>
GPUEMU_AVX2 void count_below(const float* errors, size_t count, const EdgeGroup& group,
                             CellCounts& counts, KeptBits& kept) {
  __m256 at[kEdgesAtOnce], ends[kEdgesAtOnce];
  __m256i below[kEdgesAtOnce];
  for (size_t k = 0; k < kEdgesAtOnce; ++k) {
    // A float lies below the edge exactly when it lies below the next float.
    at[k] = _mm256_set1_ps(float_above(group.at[k]));
    ends[k] = _mm256_castsi256_ps(_mm256_set1_epi64x(static_cast<int64_t>(group.ends[k])));
    below[k] = _mm256_setzero_si256();
  }
  for (size_t i = 0; i < count; i += 8) {
    const __m256 error = _mm256_load_ps(errors + i);
    __m256 odd = _mm256_setzero_ps();
    for (size_t k = 0; k < kEdgesAtOnce; ++k) {
      const __m256 less = _mm256_cmp_ps(error, at[k], _CMP_LT_OQ);
      below[k] = _mm256_sub_epi32(below[k], _mm256_castps_si256(less));
      if constexpr (kKeep) odd = _mm256_xor_ps(odd, _mm256_and_ps(less, ends[k]));
    }
    if constexpr (kKeep) {
      kept[i / 64] ^= static_cast<uint64_t>(_mm256_movemask_ps(odd)) << (i % 64);
    }
  }
  for (size_t k = 0; k < group.count; ++k) counts.below[group.first + k] += sum_of_32(below[k]);
}

void count_errors(const float* errors, size_t size, const Cells& cells, CellCounts& counts) {
  counts.finite += size;
  KeptBits kept = kept_at_first(cells);
  for (size_t edge = 0; edge < cells.edges.size(); edge += kEdgesAtOnce) {
    const EdgeGroup group = group_of(cells, edge);
    if (cells.kept.empty()) {
      count_below<false>(errors, size, group, counts, kept);
    } else {
      count_below<true>(errors, size, group, counts, kept);
    }
  }
  if (!cells.kept.empty()) keep(errors, size, kept, cells, counts);
}

/// False when the block needs float64: an error may be inexact, a fault, or raise a maximum.
GPUEMU_AVX2 bool merge(const FloatTotals& totals, size_t count, const FloatLimits32& limits,
                       Scan& scan) {
  constexpr uint64_t kFactorOfTwo = uint64_t{1} << 23;
  alignas(32) std::array<float, 8> abs, rel;
  _mm256_store_ps(abs.data(), totals.max_abs);
  _mm256_store_ps(rel.data(), totals.max_rel);
  const uint64_t max_ulp = max_of_32(totals.max_ulp);
  const double sum_abs = sum_of(totals.sum_abs);
  const bool exact = std::isfinite(sum_abs) && max_ulp <= kFactorOfTwo &&
                     _mm256_movemask_ps(totals.over) == 0 &&
                     *std::max_element(rel.begin(), rel.end()) <= limits.relative;
  if (!exact) return false;
  const double max_abs = static_cast<double>(*std::max_element(abs.begin(), abs.end()));
  scan.count += count;
  scan.sum_abs += sum_abs;
  scan.max_abs = std::max(scan.max_abs, max_abs);
  scan.max_diff = std::max(scan.max_diff, max_abs);
  scan.sum_rel += sum_of(totals.sum_rel);
  scan.rel_count += count - sum_of_32(totals.zeros);
  scan.max_ulp = std::max(scan.max_ulp, max_ulp);
  scan.sum_ulp += static_cast<double>(sum_of_32(totals.sum_ulp));
  return true;
}

}  // namespace

bool has_vector_blocks() { return __builtin_cpu_supports("avx2") != 0; }

GPUEMU_AVX2 bool wide_block(const BlockRun& run, size_t first, size_t count, Scan& scan) {
  GPUEMU_CHECK(count <= kBlockElements && count % kGroupElements == 0);
  const Comparison& comparison = run.judge.comparison();
  WideBlock block;
  block.first = first;
  block.count = count;
  std::array<double, kBlockElements> outputs, references;
  block.output = as_doubles(comparison.output, first, {outputs.data(), count});
  block.reference = as_doubles(comparison.reference, first, {references.data(), count});
  run.judge.bound().fill(first, block.reference, {block.bound.data(), count});
  const WideTotals totals = measure(block, use_threshold(scan));
  if (!std::isfinite(totals.sum_abs)) return false;
  if (totals.judge) judge_errors(run, block, scan);
  scan.count += count;
  scan.sum_abs += totals.sum_abs;
  scan.max_abs = std::max(scan.max_abs, totals.max_abs);
  scan.max_diff = std::max(scan.max_diff, totals.max_abs);
  scan.sum_rel += totals.sum_rel;
  scan.max_rel = std::max(scan.max_rel, totals.max_rel);
  scan.max_rel_diff = std::max({scan.max_rel_diff, totals.max_rel, totals.max_at_zero});
  scan.rel_count += count - totals.zeros;
  const Ulps ulps = ulps_of(comparison.output, block);
  scan.max_ulp = std::max(scan.max_ulp, ulps.max);
  scan.sum_ulp += ulps.sum;
  count_errors(block, run.cells, scan.errors);
  return true;
}

GPUEMU_AVX2 bool float_block(const BlockRun& run, size_t first, size_t count, Scan& scan) {
  GPUEMU_CHECK(count <= kBlockElements && count % kGroupElements == 0);
  const Comparison& comparison = run.judge.comparison();
  const auto* output = reinterpret_cast<const float*>(comparison.output.data.data()) + first;
  const auto* reference = reinterpret_cast<const float*>(comparison.reference.data.data()) + first;
  const FloatLimits32 limits = limits_of(run, scan);
  alignas(32) std::array<float, kBlockElements> errors;
  const FloatTotals totals = measure(output, reference, count, limits, errors.data());
  if (!merge(totals, count, limits, scan)) return false;
  if (max_of_32(totals.max_ulp) == 0) {
    scan.errors.add(run.cells, 0, count);
  } else {
    count_errors(errors.data(), count, run.cells, scan.errors);
  }
  return true;
}

GPUEMU_AVX2 void automatic_bounds_by_four(const BoundTerms& terms, const double* references,
                                          std::span<double> scales) {
  const __m256d exponent_bits = _mm256_castsi256_pd(_mm256_set1_epi64x(int64_t{0x7FF} << 52));
  const __m256d min_normal = _mm256_set1_pd(terms.format.min_normal);
  const __m256d ulp_of_one = _mm256_set1_pd(2 * terms.format.unit);
  const __m256d sum_factor = _mm256_set1_pd(terms.sum_factor);
  const __m256d value_factor = _mm256_set1_pd(terms.value_factor);
  const __m256d floor = _mm256_set1_pd(terms.floor), infinity = _mm256_set1_pd(kInfinity);
  for (size_t i = 0; i < scales.size(); i += 4) {
    const __m256d reference = _mm256_loadu_pd(references + i);
    const __m256d scale = magnitude(_mm256_loadu_pd(scales.data() + i));
    const __m256d power = _mm256_max_pd(_mm256_and_pd(reference, exponent_bits), min_normal);
    __m256d bound = _mm256_mul_pd(power, ulp_of_one);
    bound = _mm256_add_pd(bound, _mm256_mul_pd(sum_factor, scale));
    bound = _mm256_add_pd(bound, _mm256_mul_pd(value_factor, magnitude(reference)));
    bound = _mm256_add_pd(bound, floor);
    const __m256d finite = _mm256_cmp_pd(scale, infinity, _CMP_LT_OQ);
    _mm256_storeu_pd(scales.data() + i, _mm256_blendv_pd(infinity, bound, finite));
  }
}

GPUEMU_AVX2 double largest_finite_by_four(std::span<const double> values) {
  const __m256d infinity = _mm256_set1_pd(kInfinity);
  __m256d largest = _mm256_setzero_pd();
  for (size_t i = 0; i < values.size(); i += 4) {
    const __m256d size = magnitude(_mm256_loadu_pd(values.data() + i));
    const __m256d finite = _mm256_cmp_pd(size, infinity, _CMP_LT_OQ);
    largest = _mm256_max_pd(largest, _mm256_and_pd(finite, size));
  }
  return max_of(largest);
}

}  // namespace gpuemu

#else

namespace gpuemu {

bool has_vector_blocks() { return false; }
bool wide_block(const BlockRun&, size_t, size_t, Scan&) { return false; }
bool float_block(const BlockRun&, size_t, size_t, Scan&) { return false; }
double largest_finite_by_four(std::span<const double>) { return 0; }
void automatic_bounds_by_four(const BoundTerms&, const double*, std::span<double>) {}

}  // namespace gpuemu

#endif
