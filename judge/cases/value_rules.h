// Rules for values beyond a range: distinct or ascending. python/gpuemu/generate/value_rules.py
// computes the same.
#pragma once

#include <cstddef>
#include <span>

#include "judge/cases/domain.h"

namespace gpuemu {

/// Returns how many whole numbers the domain has.
double whole_numbers_in(const Domain& domain);

/// Applies the recipe's rules to the drawn elements. `distinct`: replaces an integer that occurred
/// before by the next larger free one, wrapping around at the end of the domain; if the domain has
/// fewer integers than there are elements, changes nothing. Then `sorted`: sorts each row of the
/// last axis ascending, NaN last.
void keep_value_rules(const ValueRecipe& recipe, const Domain& domain, std::span<std::byte> bytes);

}  // namespace gpuemu
