// Chooses the shape and value strategies that a case draws from.
#pragma once

#include <vector>

#include "judge/cases/case.h"

namespace gpuemu {

/// The strategies of one kind that `chosen` allows for the op, in table order. A kind of which
/// nothing is named, or Default, gives its default.
std::vector<Strategy> shape_strategies_for(const OpConfig& op, const std::vector<Strategy>& chosen);
std::vector<Strategy> value_strategies_for(const OpConfig& op, DType dtype,
                                           const std::vector<Strategy>& chosen);

/// Whether sums of small whole numbers are exact in the op, so that they are compared without a
/// tolerance.
bool has_exact_sums(const OpConfig& op);

}  // namespace gpuemu
