// The inner loops of the scan: a block of elements at a time, in the fastest of three ways that
// yields the exact result (of mean_rel, float_block rounds quotients and the sum of two to
// float32).
//   float_block (float_avx2.cc)   float32 on float32; refuses blocks that need float64
//   wide_block (wide_avx2.cc)     any float output; refuses non-finite elements
//   slow_block                    anything, one by one: the definition of every statistic
#pragma once

#include <array>
#include <span>

#include "judge/bounds/blocks.h"
#include "judge/scan/scan.h"

namespace gpuemu {

/// float_block and wide_block take whole groups of elements.
inline constexpr size_t kGroupElements = 16;

/// A part of the pass with its own totals.
struct BlockRun {
  const Judge& judge;
  const HistogramCells& cells;
  bool wide = false;    ///< wide_block may be tried.
  bool narrow = false;  ///< float_block may be tried: float32 tensors and a plain bound.
};

/// Elements [first, first + count). REQUIRES: count <= kBlockElements.
void scan_block(const BlockRun& run, size_t first, size_t count, Scan& scan);
void slow_block(const BlockRun& run, size_t first, size_t count, Scan& scan);

/// A block as float64, with what its elements may differ.
struct WideBlock {
  size_t first = 0, count = 0;
  std::span<const double> output, reference;
  alignas(32) std::array<double, kBlockElements> bound;
  alignas(32) std::array<double, kBlockElements> error;
};
/// An error up to this many bounds cannot raise the worst use, whatever the roundings.
double use_threshold(const Scan& scan);
/// Looks again at a block without non-finite elements that has faults or raises the worst use.
void judge_errors(const BlockRun& run, const WideBlock& block, Scan& scan);

/// REQUIRES of both: has_vector_blocks(), count % kGroupElements == 0. On false `scan` is as it
/// was.
bool wide_block(const BlockRun& run, size_t first, size_t count, Scan& scan);
bool float_block(const BlockRun& run, size_t first, size_t count, Scan& scan);

}  // namespace gpuemu
