// Selects the shape and value strategies that a case draws from.
#pragma once

#include <vector>

#include "judge/cases/case.h"

namespace gpuemu {

/// Returns the strategies of one kind that `chosen` allows for the op, in table order. If no
/// strategy of the kind is named, or Default is, returns the kind's defaults.
std::vector<Strategy> shape_strategies_for(const OpConfig& op, const std::vector<Strategy>& chosen);
std::vector<Strategy> value_strategies_for(const OpConfig& op, DType dtype,
                                           const std::vector<Strategy>& chosen);

/// Returns whether sums of small whole numbers are exact in the op, so that they are compared
/// without a tolerance.
bool has_exact_sums(const OpConfig& op);

}  // namespace gpuemu
