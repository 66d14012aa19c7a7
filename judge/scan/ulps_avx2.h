// Distances of a block's elements in units in the last place of the output's format.
#pragma once

#include "judge/scan/scan_block.h"

namespace gpuemu {

struct Ulps {
  uint64_t max = 0;
  double sum = 0;
};

/// REQUIRES: has_vector_blocks(), finite elements, block.count % kGroupElements == 0.
Ulps ulps_of(const TensorView& output, const WideBlock& block);

}  // namespace gpuemu
