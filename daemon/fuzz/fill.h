// Values of one input. python/gpuemu/values.py computes the same, so each step here is one float64
// operation that both languages round alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "common/tensor/tensor.h"

namespace gpuemu {

struct ValueRecipe {
  uint64_t base_seed = 0, iteration = 0;
  std::string input, strategy;
  double scale = 1.0;
  DType dtype = DType::Float32;
  Shape shape;
  std::optional<std::pair<double, double>> range;
};

/// Every finite value lies in the range. REQUIRES: `to` has exactly the tensor's bytes.
void fill_values(const ValueRecipe& recipe, std::span<std::byte> to);

}  // namespace gpuemu
