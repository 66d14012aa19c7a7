// Values around the numbers in a kernel's code, for `thresholds` and `int_thresholds`.
#pragma once

#include <vector>

#include "judge/cases/domain.h"

namespace gpuemu {

/// Returns, for each number among the recipe's parameters, the next value below, the number itself
/// and the next value above, as far as they are in the domain. Leaves out the number itself if the
/// format rounds it or it has many digits: 0.1 in a reference and 0.1f in a kernel differ, and both
/// are right.
std::vector<double> values_around(const ValueRecipe& recipe, const Domain& domain);

}  // namespace gpuemu
