// Scans blocks of float32 with a float32 reference in float32 arithmetic, eight elements at a time.
// The difference of two floats within a factor of two is exact (Sterbenz); the quotient is rounded
// and only summed. Decisions use limits that leave room for all roundings.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "judge/bounds/avx2.h"
#include "judge/scan/histogram_edges.h"
#include "judge/scan/scan_block.h"

#if defined(__x86_64__)

namespace gpuemu {
namespace {

/// Limits for decisions in float32: errors below these need no closer examination.
struct FloatLimits32 {
  float atol = 0, rtol = 0;  ///< atol + rtol |r| in float32 never exceeds the exact bound, or 0.
  float relative = 0;        ///< A relative error up to this raises no maximum.
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
  // Covers all roundings of a product and a sum, or of a quotient, in float32.
  constexpr double kSlack = 1 - 0x1p-20;
  const ErrorBound& bound = run.judge.bound();
  FloatLimits32 limits;
  limits.relative = float_below(std::min(scan.max_rel, scan.max_rel_diff) * kSlack);
  if (bound.rtol() == 0) {
    // The ratio grows with the error alone. Errors in whole units in the last place often equal the
    // worst one, which must not count as worse.
    limits.atol = float_below(std::min(scan.worst_error, bound.atol()));
    return limits;
  }
  const double use = std::min(use_threshold(scan), 1.0) * kSlack;
  limits.rtol = float_below(use * bound.rtol());
  // The amount by which a subnormal product may be rounded up.
  limits.atol = float_below(use * bound.atol()) - 0x1p-148f;
  return limits;
}

struct LimitLanes {
  __m256 atol, rtol;
};

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

/// Prefetches memory ahead of its use, because the hardware prefetcher stops at page boundaries.
/// Takes an address rather than a pointer: near the end it is outside the tensor, which a prefetch
/// allows.
GPUEMU_AVX2_INLINE void ask_ahead(const float* at) {
  constexpr uintptr_t kAhead = 4096;
  _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(at) + kAhead),
               _MM_HINT_T0);
}

/// Adds eight elements, except to sum_rel. Returns the relative errors, 0 where the reference is 0.
GPUEMU_AVX2_INLINE __m256 add_eight(const float* output, const float* reference,
                                    const LimitLanes& limits, float* errors, FloatTotals& totals) {
  const __m256 o = _mm256_loadu_ps(output), r = _mm256_loadu_ps(reference);
  const __m256 error = magnitude(_mm256_sub_ps(o, r)), size = magnitude(r);
  _mm256_store_ps(errors, error);
  totals.sum_abs = add_wide(totals.sum_abs, error);
  totals.max_abs = _mm256_max_ps(totals.max_abs, error);
  const __m256 sum = _mm256_add_ps(_mm256_mul_ps(limits.rtol, size), limits.atol);
  const __m256 limit = _mm256_max_ps(sum, _mm256_setzero_ps());
  totals.over = _mm256_or_ps(totals.over, _mm256_cmp_ps(error, limit, _CMP_NLE_UQ));
  // 0 / 0 is NaN, which max and the mask ignore; anything else over 0 stays infinite.
  const __m256 quotient = _mm256_div_ps(error, size);
  const __m256 zero = _mm256_cmp_ps(size, _mm256_setzero_ps(), _CMP_EQ_OQ);
  totals.max_rel = _mm256_max_ps(quotient, totals.max_rel);
  totals.zeros = _mm256_sub_epi32(totals.zeros, _mm256_castps_si256(zero));
  // Correct for numbers of the same sign; above 2^23 also for different signs.
  const __m256i ulps =
      _mm256_abs_epi32(_mm256_sub_epi32(_mm256_castps_si256(o), _mm256_castps_si256(r)));
  totals.max_ulp = _mm256_max_epu32(totals.max_ulp, ulps);
  totals.sum_ulp = _mm256_add_epi32(totals.sum_ulp, ulps);
  return _mm256_andnot_ps(zero, quotient);
}

/// Measures the errors and writes them to `errors`. The result is invalid if an output and its
/// reference differ by more than a factor of two, which max_ulp reveals.
GPUEMU_AVX2 FloatTotals measure(const float* output, const float* reference, size_t count,
                                const FloatLimits32& limits, float* errors) {
  const LimitLanes lanes{_mm256_set1_ps(limits.atol), _mm256_set1_ps(limits.rtol)};
  FloatTotals totals{};
  for (size_t i = 0; i < count; i += 16) {
    ask_ahead(output + i);
    ask_ahead(reference + i);
    const __m256 low = add_eight(output + i, reference + i, lanes, errors + i, totals);
    const __m256 high = add_eight(output + i + 8, reference + i + 8, lanes, errors + i + 8, totals);
    totals.sum_rel = add_wide(totals.sum_rel, _mm256_add_ps(low, high));
  }
  return totals;
}

template <bool kKeep>
GPUEMU_AVX2 void count_below(const float* errors, size_t count, const EdgeGroup& group,
                             CellCounts& counts, KeptBits& kept) {
  __m256 at[kEdgesAtOnce], ends[kEdgesAtOnce];
  __m256i below[kEdgesAtOnce];
  for (size_t k = 0; k < kEdgesAtOnce; ++k) {
    // A float is below the edge exactly when it is below the next float.
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

void count_errors(const float* errors, size_t size, const HistogramCells& cells,
                  CellCounts& counts) {
  if (cells.all) return counts.keep_all(std::span(errors, size));
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

/// Returns false if the block needs float64: an error may be inexact, a fault, or raise a maximum.
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

}  // namespace gpuemu

#else

namespace gpuemu {

bool float_block(const BlockRun&, size_t, size_t, Scan&) { return false; }

}  // namespace gpuemu

#endif
