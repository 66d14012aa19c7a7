// Values that keep to more than a range: none comes twice, or they ascend. python/gpuemu/generate/
// value_rules.py computes the same.
#pragma once

#include <cstddef>
#include <span>

#include "judge/cases/domain.h"

namespace gpuemu {

/// How many whole numbers the domain has.
double whole_numbers_in(const Domain& domain);

/// Applies the rules of the recipe to the elements that were drawn. `distinct`: an integer that
/// came before becomes the next larger one that is free, after the last of the domain the first;
/// where the domain has fewer integers than there are elements, they stay as they are. Then
/// `sorted`: each row of the last axis ascends, NaN last.
void keep_value_rules(const ValueRecipe& recipe, const Domain& domain, std::span<std::byte> bytes);

}  // namespace gpuemu
