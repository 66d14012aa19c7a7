// Scans blocks in float64, four elements at a time.
#include <bit>
#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "judge/bounds/avx2.h"
#include "judge/bounds/float_format.h"
#include "judge/scan/histogram_edges.h"
#include "judge/scan/scan_block.h"
#include "judge/scan/ulps_avx2.h"

#if defined(__x86_64__)

namespace gpuemu {
namespace {

/// Counts the errors below each edge of the group; with kKeep, flips the bits of those below an odd
/// number of ends.
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

void count_errors(const WideBlock& block, const HistogramCells& cells, CellCounts& counts) {
  if (cells.all) {
    return counts.keep_all(std::span<const double>(block.error).first(block.count));
  }
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

struct WideTotals {
  double sum_abs = 0, max_abs = 0, sum_rel = 0, max_rel = 0;
  double max_at_zero = 0;  ///< Largest error for a reference of 0.
  uint64_t zeros = 0;
  uint64_t judge = 0;  ///< A bit for each group in which an error may be a fault or raise the
                       ///< largest ratio.
};
static_assert(kBlockElements / kGroupElements <= 64);

/// Fills block.error. Invalid, with a non-finite sum, if an error is not finite.
GPUEMU_AVX2 WideTotals measure(WideBlock& block, double threshold) {
  const __m256d none = _mm256_setzero_pd(), use = _mm256_set1_pd(threshold);
  const __m256d smallest = _mm256_set1_pd(std::numeric_limits<double>::denorm_min());
  __m256d sum_abs = none, max_abs = none, sum_rel = none, max_rel = none, at_zero = none;
  __m256d judge = none;
  uint64_t groups = 0;
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
    // Equality counts if the product is subnormal and may have been rounded up; zero never counts.
    const __m256d limit = _mm256_max_pd(_mm256_mul_pd(use, bound), smallest);
    const __m256d worse = _mm256_cmp_pd(error, limit, _CMP_GE_OQ);
    judge = _mm256_or_pd(judge, _mm256_or_pd(over, worse));
    if ((i + 4) % kGroupElements != 0) continue;
    groups |= uint64_t{_mm256_movemask_pd(judge) != 0} << (i / kGroupElements);
    judge = none;
  }
  WideTotals totals{sum_of(sum_abs), max_of(max_abs), sum_of(sum_rel),
                    max_of(max_rel), max_of(at_zero), 0,
                    groups};
  for (const uint64_t lane : numbers_of(zeros)) totals.zeros += lane;
  return totals;
}

}  // namespace

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
  for (uint64_t left = totals.judge; left != 0; left &= left - 1) {
    const auto group = static_cast<size_t>(std::countr_zero(left)) * kGroupElements;
    judge_errors(run, block, group, group + kGroupElements, scan);
  }
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

}  // namespace gpuemu

#else

namespace gpuemu {

bool wide_block(const BlockRun&, size_t, size_t, Scan&) { return false; }

}  // namespace gpuemu

#endif
