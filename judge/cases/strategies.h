// The table of shape and value strategies, and which of them a case draws from.
#pragma once

#include <string>
#include <vector>

#include "judge/cases/case.h"

namespace gpuemu {

/// Names of one kind that `chosen` allows for the op, in table order. A kind of which nothing is
/// named, or "default", gives its default. InvalidArgument for a name that does not exist.
Result<std::vector<std::string>> shape_strategies_for(const OpConfig& op,
                                                      const std::vector<std::string>& chosen);
Result<std::vector<std::string>> value_strategies_for(const OpConfig& op, DType dtype,
                                                      const std::vector<std::string>& chosen);

/// Whether sums of small whole numbers are exact in the op, so that they are compared without a
/// tolerance.
bool has_exact_sums(const OpConfig& op);

}  // namespace gpuemu
