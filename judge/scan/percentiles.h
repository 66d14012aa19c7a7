// Exact order statistics of the absolute errors in one pass: a sample says where the wanted
// elements lie, the pass counts below a few edges there and keeps the values between them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gpuemu {

inline constexpr size_t kPercentileCount = 3;
inline constexpr std::array<double, kPercentileCount> kPercentiles{0.5, 0.9, 0.99};

/// Sorted position of percentile number `which` among `count` values. REQUIRES: count > 0.
uint64_t percentile_rank(size_t which, uint64_t count);

/// Half-open: from <= value < to.
struct ValueRange {
  double from = 0, to = 0;
  bool holds(double value) const { return value >= from && value < to; }
};

/// How a pass over errors (finite ones are >= 0) sorts them. Two edges next to each other in
/// float64 isolate one value, which then needs not be kept: errors in whole units in the last place
/// repeat a few values millions of times.
struct HistogramCells {
  std::vector<double> edges;     ///< Ascending, finite.
  std::vector<ValueRange> kept;  ///< Ascending, disjoint; ends are edges or infinity.
  std::vector<double> shares;    ///< About which part of all values each kept range holds.
  std::vector<bool> ends;        ///< Whether the edge of this place is an end of a kept range.
};

/// Keeps everything: for small tensors.
HistogramCells keep_all();
/// From a sample of the values (any order, infinity allowed) of which there are `count`.
HistogramCells cells_around_percentiles(std::vector<double> sample, uint64_t count);

/// What one pass (or one thread's part of it) found.
struct CellCounts {
  /// With room for what is kept of `count` values.
  CellCounts(const HistogramCells& cells, uint64_t count);
  std::vector<uint64_t> below;  ///< How many values lie below each edge.
  uint64_t finite = 0;
  /// Number i holds values of kept range i modulo their number; a merge appends.
  std::vector<std::vector<double>> kept;

  void add(const HistogramCells& cells, double value, uint64_t times = 1);
  void merge(CellCounts&& other);
};

/// Calls visit(value) for every value again; only when the sample misled.
using Revisit = std::function<void(const std::function<void(double)>& visit)>;

/// Element `rank` of the sorted values.
double value_at_rank(uint64_t rank, const HistogramCells& cells, const CellCounts& counts,
                     const Revisit& revisit);

}  // namespace gpuemu
