// Distances of a block's elements in units in the last place of the output's format.
#pragma once

#include <optional>
#include <span>

#include "judge/scan/scan_block.h"

namespace gpuemu {

struct Ulps {
  uint64_t max = 0;
  double sum = 0;
};

/// REQUIRES: has_vector_blocks(), finite elements, block.count % kGroupElements == 0.
Ulps ulps_of(const TensorView& output, const WideBlock& block);

/// How many units the outputs from `first` on lie above these references, added up; exact. Nothing
/// where an element is not finite, or the processor, the type or the size have no fast way.
std::optional<double> signed_ulps_of(const TensorView& output, size_t first,
                                     std::span<const double> references);

}  // namespace gpuemu
