// How a block counts its errors below the edges of the cells: some edges at a time, and one bit for
// each error to be kept.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "judge/scan/percentiles.h"
#include "judge/scan/scan_block.h"

namespace gpuemu {

/// Two for each percentile; their counts stay in registers.
inline constexpr size_t kEdgesAtOnce = 6;

/// Bit i: whether error i of the block is to be kept.
using KeptBits = std::array<uint64_t, kBlockElements / 64>;

/// One group of edges. A value lies in a kept range when it lies below an odd number of the ends of
/// kept ranges (ascending, disjoint).
struct EdgeGroup {
  std::array<double, kEdgesAtOnce> at;
  std::array<uint64_t, kEdgesAtOnce> ends{};  ///< All ones where the edge is such an end.
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

/// Below infinity lies every error of a block; an open last range starts with all bits set.
inline KeptBits kept_at_first(const HistogramCells& cells) {
  KeptBits kept;
  const bool open =
      !cells.kept.empty() && cells.kept.back().to == std::numeric_limits<double>::infinity();
  kept.fill(open ? ~uint64_t{0} : 0);
  return kept;
}

/// Adds the errors whose bits are set to the ranges that hold them.
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
