#include "daemon/validate/scan_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "daemon/validate/formats.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gpuemu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void count_percentiles(const Brackets& brackets, double value, Scan& scan) {
  const auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) != value) scan.inexact = true;
  for (size_t which = 0; which < kPercentileCount; ++which) {
    const Bracket& bracket = brackets[which];
    BracketCounts& counts = scan.brackets[which];
    counts.below += rounded < bracket.low ? 1 : 0;
    counts.to_low += rounded <= bracket.low ? 1 : 0;
    counts.below_high += rounded < bracket.high ? 1 : 0;
    counts.to_high += rounded <= bracket.high ? 1 : 0;
    if (rounded > bracket.low && rounded < bracket.high) counts.kept.push_back(value);
  }
}

void add_element(const BlockRun& run, size_t index, double output, double reference, Scan& scan) {
  const Fault fault = run.judge.of(index, output, reference);
  if (fault != Fault::None) {
    FaultTally& tally = scan.faults[static_cast<size_t>(fault)];
    if (tally.count++ == 0) tally.first = index;
  }
  const double difference = std::fabs(output - reference);
  const double absolute = std::isfinite(difference) ? difference : kInfinity;
  scan.sum_abs += absolute;
  scan.max_abs = std::max(scan.max_abs, absolute);
  if (reference != 0) {
    const double quotient = absolute / std::fabs(reference);
    const double relative = std::isnan(quotient) ? kInfinity : quotient;
    ++scan.rel_count;
    scan.sum_rel += relative;
    scan.max_rel = std::max(scan.max_rel, relative);
  }
  if (!std::isnan(difference)) {
    scan.max_diff = std::max(scan.max_diff, difference);
    const double against = reference != 0 ? difference / std::fabs(reference) : difference;
    if (!std::isnan(against)) scan.max_rel_diff = std::max(scan.max_rel_diff, against);
  }
  if (difference > 0 && std::isfinite(difference)) {
    const double bound = run.judge.bound().at(index, reference);
    const double use = bound > 0 ? difference / bound : kInfinity;
    if (use > scan.worst_use) {
      scan.worst_use = use;
      scan.worst_index = index;
    }
  }
  const FloatFormat& format = format_of(run.judge.comparison().output.dtype);
  const uint64_t ulps = ulp_distance(format, output, reference);
  scan.max_ulp = std::max(scan.max_ulp, ulps);
  scan.sum_ulp += static_cast<double>(ulps);
  count_percentiles(run.brackets, absolute, scan);
}

}  // namespace

void slow_block(const BlockRun& run, size_t first, size_t count, Scan& scan) {
  std::array<double, kBlockElements> output, reference;
  decode(run.judge.comparison().output, first, {output.data(), count});
  decode(run.judge.comparison().reference, first, {reference.data(), count});
  for (size_t i = 0; i < count; ++i) add_element(run, first + i, output[i], reference[i], scan);
  scan.count += count;
}

#if defined(__x86_64__)

bool has_fast_block() { return __builtin_cpu_supports("avx2") != 0; }

namespace {

/// Lanes of the running totals of one block, four or eight of a kind.
struct Lanes {
  __m256d sum_abs, max_abs, sum_rel;
  __m256i max_ulp, sum_ulp, zeros, inexact;
  __m256d dirty;
};

struct Thresholds {
  __m256d atol, rtol, use, relative;
};

__attribute__((target("avx2"))) inline __m256d magnitude(__m256d value) {
  return _mm256_andnot_pd(_mm256_set1_pd(-0.0), value);
}

/// Four elements: errors and the tests of bound and quotient.
__attribute__((target("avx2"), always_inline)) inline __m256d add_four(__m128 output,
                                                                       __m128 reference,
                                                                       const Thresholds& at,
                                                                       Lanes& to) {
  const __m256d r = _mm256_cvtps_pd(reference);
  const __m256d difference = magnitude(_mm256_sub_pd(_mm256_cvtps_pd(output), r));
  const __m256d size = magnitude(r);
  const __m256d bound = _mm256_add_pd(at.atol, _mm256_mul_pd(at.rtol, size));
  const __m256d used = _mm256_cmp_pd(difference, _mm256_mul_pd(at.use, bound), _CMP_NLE_UQ);
  const __m256d grown = _mm256_cmp_pd(difference, _mm256_mul_pd(at.relative, size), _CMP_NLE_UQ);
  to.dirty = _mm256_or_pd(to.dirty, _mm256_or_pd(used, grown));
  const __m256d nonzero = _mm256_cmp_pd(size, _mm256_setzero_pd(), _CMP_NEQ_UQ);
  to.sum_rel = _mm256_add_pd(to.sum_rel, _mm256_and_pd(nonzero, _mm256_div_pd(difference, size)));
  to.sum_abs = _mm256_add_pd(to.sum_abs, difference);
  to.max_abs = _mm256_max_pd(difference, to.max_abs);
  return difference;
}

__attribute__((target("avx2"), always_inline)) inline __m256i ordered(__m256i bits) {
  return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
}

__attribute__((target("avx2"), always_inline)) inline void add_ulps(__m256 output, __m256 reference,
                                                                    Lanes& to) {
  const __m256i left = ordered(_mm256_castps_si256(output));
  const __m256i right = ordered(_mm256_castps_si256(reference));
  const __m256i distance =
      _mm256_sub_epi32(_mm256_max_epi32(left, right), _mm256_min_epi32(left, right));
  to.max_ulp = _mm256_max_epu32(to.max_ulp, distance);
  to.sum_ulp = _mm256_add_epi32(to.sum_ulp, distance);
  const __m256 zero = _mm256_cmp_ps(reference, _mm256_setzero_ps(), _CMP_EQ_OQ);
  to.zeros = _mm256_sub_epi32(to.zeros, _mm256_castps_si256(zero));
}

/// Counts the lanes whose mask is set (all ones, -1).
__attribute__((target("avx2"), always_inline)) inline void subtract(__m256i& from, __m256 mask) {
  from = _mm256_sub_epi32(from, _mm256_castps_si256(mask));
}

/// What the first loop over a block leaves for the loops over its ranks, and what those find.
/// Separate loops keep every running total in a register.
struct Ranks {
  alignas(32) std::array<float, kBlockElements> rounded;
  std::array<std::array<double, kBlockElements>, kPercentileCount> kept;
  std::array<size_t, kPercentileCount> kept_count{};
  std::array<std::array<uint32_t, 8>, kPercentileCount> below, to_low, below_high, to_high;
};

__attribute__((target("avx2"), always_inline)) inline void store_rounded(__m256d low_half,
                                                                         __m256d high_half,
                                                                         Lanes& to,
                                                                         float* rounded) {
  const __m128 low = _mm256_cvtpd_ps(low_half), high = _mm256_cvtpd_ps(high_half);
  const __m256d back_low = _mm256_cmp_pd(_mm256_cvtps_pd(low), low_half, _CMP_NEQ_UQ);
  const __m256d back_high = _mm256_cmp_pd(_mm256_cvtps_pd(high), high_half, _CMP_NEQ_UQ);
  to.inexact = _mm256_or_si256(to.inexact, _mm256_castpd_si256(_mm256_or_pd(back_low, back_high)));
  _mm256_store_ps(rounded, _mm256_set_m128(high, low));
}

__attribute__((target("avx2"))) Thresholds thresholds_of(const BlockRun& run, const Scan& scan) {
  Thresholds at;
  at.atol = _mm256_set1_pd(run.judge.bound().atol());
  at.rtol = _mm256_set1_pd(run.judge.bound().rtol());
  at.use = _mm256_set1_pd(std::min(scan.worst_use, 1.0));
  at.relative = _mm256_set1_pd(std::min(scan.max_rel, scan.max_rel_diff));
  return at;
}

__attribute__((target("avx2"))) double sum_of(__m256d lanes) {
  alignas(32) std::array<double, 4> values;
  _mm256_store_pd(values.data(), lanes);
  return (values[0] + values[1]) + (values[2] + values[3]);
}

__attribute__((target("avx2"))) std::array<uint32_t, 8> lanes_of(__m256i lanes) {
  alignas(32) std::array<uint32_t, 8> values;
  _mm256_store_si256(reinterpret_cast<__m256i*>(values.data()), lanes);
  return values;
}

uint64_t total(const std::array<uint32_t, 8>& lanes) {
  uint64_t sum = 0;
  for (const uint32_t lane : lanes) sum += lane;
  return sum;
}

/// Ranks of one block's errors against one bracket.
__attribute__((target("avx2"))) void rank_block(const float* output, const float* reference,
                                                const Bracket& bracket, size_t which,
                                                Ranks& ranks) {
  const __m256 low = _mm256_set1_ps(bracket.low), high = _mm256_set1_ps(bracket.high);
  __m256i below = _mm256_setzero_si256(), to_low = below, below_high = below, to_high = below;
  size_t count = 0;
  for (size_t i = 0; i < kBlockElements; i += 8) {
    const __m256 value = _mm256_load_ps(ranks.rounded.data() + i);
    const __m256 at_low = _mm256_cmp_ps(value, low, _CMP_LE_OQ);
    const __m256 under = _mm256_cmp_ps(value, high, _CMP_LT_OQ);
    subtract(below, _mm256_cmp_ps(value, low, _CMP_LT_OQ));
    subtract(to_low, at_low);
    subtract(below_high, under);
    subtract(to_high, _mm256_cmp_ps(value, high, _CMP_LE_OQ));
    auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_andnot_ps(at_low, under)));
    for (; mask != 0; mask &= mask - 1) {
      const size_t index = i + static_cast<size_t>(__builtin_ctz(mask));
      const double difference =
          static_cast<double>(output[index]) - static_cast<double>(reference[index]);
      ranks.kept[which][count++] = std::fabs(difference);
    }
  }
  ranks.kept_count[which] = count;
  ranks.below[which] = lanes_of(below);
  ranks.to_low[which] = lanes_of(to_low);
  ranks.below_high[which] = lanes_of(below_high);
  ranks.to_high[which] = lanes_of(to_high);
}

__attribute__((target("avx2"))) bool merge(const Lanes& lanes, Scan& scan) {
  alignas(32) std::array<double, 4> maxima;
  _mm256_store_pd(maxima.data(), lanes.max_abs);
  const double max_abs = *std::max_element(maxima.begin(), maxima.end());
  const std::array<uint32_t, 8> ulps = lanes_of(lanes.max_ulp);
  const uint64_t max_ulp = *std::max_element(ulps.begin(), ulps.end());
  // A lane adds kBlockElements / 8 distances in 32 bits.
  const bool overflow = max_ulp >= (uint64_t{1} << 32) / (kBlockElements / 8);
  if (_mm256_movemask_pd(lanes.dirty) != 0 || !std::isfinite(max_abs) || overflow) return false;
  scan.sum_abs += sum_of(lanes.sum_abs);
  scan.max_abs = std::max(scan.max_abs, max_abs);
  scan.max_diff = std::max(scan.max_diff, max_abs);
  scan.sum_rel += sum_of(lanes.sum_rel);
  scan.rel_count += kBlockElements - total(lanes_of(lanes.zeros));
  scan.max_ulp = std::max(scan.max_ulp, max_ulp);
  scan.sum_ulp += static_cast<double>(total(lanes_of(lanes.sum_ulp)));
  scan.inexact = scan.inexact || _mm256_testz_si256(lanes.inexact, lanes.inexact) == 0;
  scan.count += kBlockElements;
  return true;
}

}  // namespace

__attribute__((target("avx2"))) bool fast_block(const BlockRun& run, size_t first, Scan& scan) {
  const Comparison& comparison = run.judge.comparison();
  const auto* output = reinterpret_cast<const float*>(comparison.output.data.data()) + first;
  const auto* reference = reinterpret_cast<const float*>(comparison.reference.data.data()) + first;
  const Thresholds at = thresholds_of(run, scan);
  Lanes lanes{};
  Ranks ranks;
  for (size_t i = 0; i < kBlockElements; i += 8) {
    const __m256 o = _mm256_loadu_ps(output + i);
    const __m256 r = _mm256_loadu_ps(reference + i);
    const __m256d low = add_four(_mm256_castps256_ps128(o), _mm256_castps256_ps128(r), at, lanes);
    const __m256d high =
        add_four(_mm256_extractf128_ps(o, 1), _mm256_extractf128_ps(r, 1), at, lanes);
    add_ulps(o, r, lanes);
    store_rounded(low, high, lanes, ranks.rounded.data() + i);
  }
  if (!merge(lanes, scan)) return false;
  for (size_t which = 0; which < kPercentileCount; ++which) {
    rank_block(output, reference, run.brackets[which], which, ranks);
    BracketCounts& counts = scan.brackets[which];
    counts.below += total(ranks.below[which]);
    counts.to_low += total(ranks.to_low[which]);
    counts.below_high += total(ranks.below_high[which]);
    counts.to_high += total(ranks.to_high[which]);
    counts.kept.insert(
        counts.kept.end(), ranks.kept[which].begin(),
        ranks.kept[which].begin() + static_cast<std::ptrdiff_t>(ranks.kept_count[which]));
  }
  return true;
}

#else

bool has_fast_block() { return false; }
bool fast_block(const BlockRun&, size_t, Scan&) { return false; }

#endif

}  // namespace gpuemu
