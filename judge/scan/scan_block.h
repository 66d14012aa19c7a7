// The inner loops of the scan, a block of elements at a time, in the fastest of three ways that
// gives the exact result (except that float_block rounds the quotients of mean_rel, and the sum of
// two, to float32).
//   float_block (float_avx2.cc)   float32 on float32; refuses blocks that need float64
//   wide_block (wide_avx2.cc)     any float output; refuses non-finite elements
//   slow_block                    anything, one by one: the definition of every statistic
#pragma once

#include <array>
#include <span>

#include "judge/bounds/blocks.h"
#include "judge/scan/scan.h"

namespace gpuemu {

/// float_block and wide_block process whole groups of elements.
inline constexpr size_t kGroupElements = 16;

/// A part of the pass, with its own totals.
struct BlockRun {
  const Judge& judge;
  const HistogramCells& cells;
  bool wide = false;    ///< wide_block may be used.
  bool narrow = false;  ///< float_block may be used: float32 tensors and a plain bound.
};

/// Scans elements [first, first + count). Requires count <= kBlockElements.
void scan_block(const BlockRun& run, size_t first, size_t count, Scan& scan);
void slow_block(const BlockRun& run, size_t first, size_t count, Scan& scan);

/// A block as float64, with the allowed difference of each element.
struct WideBlock {
  size_t first = 0, count = 0;
  std::span<const double> output, reference;
  alignas(32) std::array<double, kBlockElements> bound;
  alignas(32) std::array<double, kBlockElements> error;
};
/// An error up to this many bounds cannot raise the largest ratio, despite rounding.
double use_threshold(const Scan& scan);
/// Examines again the elements from place `first` to `last` of a block without non-finite elements,
/// of which some may be faults or raise the largest ratio.
void judge_errors(const BlockRun& run, const WideBlock& block, size_t first, size_t last,
                  Scan& scan);

/// Both require has_vector_blocks() and count % kGroupElements == 0. If they return false, `scan`
/// is unchanged.
bool wide_block(const BlockRun& run, size_t first, size_t count, Scan& scan);
bool float_block(const BlockRun& run, size_t first, size_t count, Scan& scan);

}  // namespace gpuemu
