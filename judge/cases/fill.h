// Computes the values of one input. python/gpuemu/generate/values.py computes the same, so each
// step is one float64 operation that both languages round alike.
#pragma once

#include <cstddef>
#include <span>

#include "judge/cases/domain.h"

namespace gpuemu {

/// Every finite value is in the range. Requires `to` to have exactly the tensor's size.
void fill_values(const ValueRecipe& recipe, std::span<std::byte> to);

}  // namespace gpuemu
