// Values whose rows, along the last axis, each follow a pattern of their own, so that one case has
// what would take many: maxima that grow from tile to tile, numbers near an epsilon, ties of
// quantisers, rows of negative numbers, one NaN or infinity in each row.
#pragma once

#include <span>

#include "judge/cases/domain.h"

namespace gpuemu {

/// False, and nothing done, for strategies without patterns and for integers.
bool fill_rows(const ValueRecipe& recipe, const Domain& domain, std::span<double> values);

/// Puts the NaNs and infinities of `row_specials` over values. False for other strategies.
bool plant_in_rows(const ValueRecipe& recipe, const Domain& domain, std::span<double> values);

}  // namespace gpuemu
