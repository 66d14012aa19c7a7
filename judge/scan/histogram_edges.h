// Counts a block's errors below the edges of the cells: several edges at a time, with one bit per
// error that must be kept.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "judge/scan/percentiles.h"
#include "judge/scan/scan_block.h"

namespace gpuemu {

/// Two for each percentile, few enough for their counts to stay in registers.
inline constexpr size_t kEdgesAtOnce = 6;

/// Bit i: error i of the block must be kept.
using KeptBits = std::array<uint64_t, kBlockElements / 64>;

/// A group of edges. A value is in a kept range if it is below an odd number of the ends of kept
/// ranges (ascending, disjoint).
struct EdgeGroup {
  std::array<double, kEdgesAtOnce> at;
  std::array<uint64_t, kEdgesAtOnce> ends{};  ///< All ones if the edge is an end of a kept range.
  size_t first = 0, count = 0;
};

inline EdgeGroup group_of(const HistogramCells& cells, size_t first) {
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

/// Every error of a block is below infinity, so with an open last range all bits start set.
inline KeptBits kept_at_first(const HistogramCells& cells) {
  KeptBits kept;
  const bool open =
      !cells.kept.empty() && cells.kept.back().to == std::numeric_limits<double>::infinity();
  kept.fill(open ? ~uint64_t{0} : 0);
  return kept;
}

/// Adds the errors whose bits are set to the ranges that contain them.
template <typename T>
void keep(const T* errors, size_t count, const KeptBits& bits, const HistogramCells& cells,
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

}  // namespace gpuemu
