// Values of one input. python/gpuemu/generate/values.py computes the same, so each step here is one
// float64 operation that both languages round alike.
#pragma once

#include <cstddef>
#include <span>

#include "judge/cases/domain.h"

namespace gpuemu {

/// Every finite value lies in the range. REQUIRES: `to` has exactly the tensor's bytes.
void fill_values(const ValueRecipe& recipe, std::span<std::byte> to);

}  // namespace gpuemu
