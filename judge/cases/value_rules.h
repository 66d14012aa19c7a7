// Values that keep to more than a range: none comes twice, or they ascend. python/gpuemu/generate/
// value_rules.py computes the same.
#pragma once

#include <cstddef>
#include <span>

#include "judge/cases/domain.h"

namespace gpuemu {

/// How many whole numbers the domain has.
double whole_numbers_in(const Domain& domain);

/// Changes what was drawn as the recipe's rules want it, once it is in its own type: a value that
/// came before becomes the next larger one that has not, behind the last one the first; then each
/// row of the last axis is sorted, NaN last. REQUIRES: of `distinct`, integers and a domain with as
/// many of them as there are elements; with fewer, values stay as they are.
void keep_value_rules(const ValueRecipe& recipe, const Domain& domain, std::span<std::byte> bytes);

}  // namespace gpuemu
