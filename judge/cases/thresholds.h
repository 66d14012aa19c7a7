// Values around the numbers in a kernel's code: what `thresholds` and `int_thresholds` draw from.
#pragma once

#include <vector>

#include "judge/cases/domain.h"

namespace gpuemu {

/// For each number of the recipe's parameters the value just below, the number itself and the value
/// just above, as far as the domain has them. A number that the format rounds or that has many
/// digits is left out itself: a reference that writes 0.1 means another one than the kernel's 0.1f,
/// and both are right.
std::vector<double> values_around(const ValueRecipe& recipe, const Domain& domain);

}  // namespace gpuemu
