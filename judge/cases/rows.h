// Values with a separate pattern for each row along the last axis, so that one case covers what
// would take many: maxima that grow from tile to tile, numbers near an epsilon, rounding ties of
// quantisers, rows of negative numbers, one NaN or infinity in each row.
#pragma once

#include <span>

#include "judge/cases/domain.h"

namespace gpuemu {

/// Returns false, without a change, for integers and for strategies without patterns.
bool fill_rows(const ValueRecipe& recipe, const Domain& domain, std::span<double> values);

/// Overwrites values with the NaNs and infinities of `row_specials`. Returns false for other
/// strategies.
bool plant_in_rows(const ValueRecipe& recipe, const Domain& domain, std::span<double> values);

}  // namespace gpuemu
