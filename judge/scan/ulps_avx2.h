// Computes distances of a block's elements in units in the last place of the output's format.
#pragma once

#include <optional>
#include <span>

#include "judge/scan/scan_block.h"

namespace gpuemu {

struct Ulps {
  uint64_t max = 0;
  double sum = 0;
};

/// Requires has_vector_blocks(), finite elements and block.count % kGroupElements == 0.
Ulps ulps_of(const TensorView& output, const WideBlock& block);

/// Returns by how many units the outputs from `first` on are above these references, summed
/// exactly. Nothing if an element is not finite, or the processor, type or size has no fast path.
std::optional<double> signed_ulps_of(const TensorView& output, size_t first,
                                     std::span<const double> references);

}  // namespace gpuemu
