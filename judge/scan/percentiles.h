// Exact order statistics of the absolute errors in one pass. Of a large tensor, a sample estimates
// where the wanted elements are; the pass counts values below a few edges there and keeps those
// between them. Of a small one, the pass keeps all.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gpuemu {

inline constexpr size_t kPercentileCount = 3;
inline constexpr std::array<double, kPercentileCount> kPercentiles{0.5, 0.9, 0.99};

/// Returns the sorted position of percentile number `which` among `count` values. Requires count >
/// 0.
uint64_t percentile_rank(size_t which, uint64_t count);

/// Half-open: from <= value < to.
struct ValueRange {
  double from = 0, to = 0;
  bool holds(double value) const { return value >= from && value < to; }
};

/// How a pass classifies errors (finite ones are >= 0). Two adjacent float64 edges isolate one
/// value, which then need not be kept: errors in whole units in the last place repeat a few values
/// millions of times.
struct HistogramCells {
  std::vector<double> edges;     ///< Ascending, finite.
  std::vector<ValueRange> kept;  ///< Ascending, disjoint; the ends are edges or infinity.
  std::vector<double> shares;    ///< Estimated part of all values in each kept range.
  std::vector<bool> ends;        ///< Whether the edge at this position is an end of a kept range.
  bool all = false;              ///< There are no edges, and one kept range of all finite values.
};

/// Keeps everything; for small tensors.
HistogramCells keep_all();
/// Computes cells from a sample (any order, infinity allowed) of `count` values.
HistogramCells cells_around_percentiles(std::vector<double> sample, uint64_t count);

/// The result of one pass, or of one thread's part of it.
struct CellCounts {
  /// Reserves room for the values to keep out of `count`.
  CellCounts(const HistogramCells& cells, uint64_t count);
  std::vector<uint64_t> below;  ///< Number of values below each edge.
  uint64_t finite = 0;
  /// Number i holds values of kept range i modulo the number of ranges; a merge appends.
  std::vector<std::vector<double>> kept;

  void add(const HistogramCells& cells, double value, uint64_t times = 1);
  void add_all(const HistogramCells& cells, std::span<const double> values);
  /// Adds finite values to cells that keep all.
  template <typename T>
  void keep_all(std::span<const T> values) {
    finite += values.size();
    kept[0].insert(kept[0].end(), values.begin(), values.end());
  }
  void merge(CellCounts&& other);
};

/// Calls visit(value) for every value again; used only if the sample was misleading.
using Revisit = std::function<void(const std::function<void(double)>& visit)>;

/// Returns the percentiles of `count` values.
std::array<double, kPercentileCount> percentiles_of(uint64_t count, const HistogramCells& cells,
                                                    const CellCounts& counts,
                                                    const Revisit& revisit);

}  // namespace gpuemu
