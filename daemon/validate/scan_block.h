// The inner loop of the scan: one block of elements at a time.
#pragma once

#include <span>

#include "daemon/validate/scan.h"

namespace gpuemu {

inline constexpr size_t kBlockElements = 1024;

/// A part of the pass, [first, last), with its own totals.
struct BlockRun {
  const Judge& judge;
  const Brackets& brackets;
  bool fast = false;  ///< fast_block may be tried: float32 against float32, a plain bound, AVX2.
};

/// Element by element; handles everything.
void slow_block(const BlockRun& run, size_t first, size_t count, Scan& scan);

/// True when the processor can run fast_block.
bool has_fast_block();
/// Adds a block of exactly kBlockElements to `scan` and returns true; false, with `scan` as it was,
/// when an element has a fault, is not finite, or raises a maximum of a quotient.
bool fast_block(const BlockRun& run, size_t first, Scan& scan);

}  // namespace gpuemu
