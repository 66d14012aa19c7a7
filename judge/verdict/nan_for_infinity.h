// Accepts NaN in place of an infinity, and the reverse. Formulas that agree for all finite numbers,
// such as 0.9 m + 0.1 g and m + 0.1 (g - m), or a mean from a sum and a running mean, may give
// either for infinite inputs; so may a factor that is 0 for the reference because float64 cannot
// hold it.
#pragma once

#include <optional>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// A copy of the reference with NaN where the output has NaN and the reference an infinity. nullopt
/// if there is no such element or no infinite input: if the inputs are finite, only the infinity is
/// right.
std::optional<Tensor> nan_for_infinity(const Comparison& comparison);

/// A copy of the reference with the output's infinity where the reference has NaN, for none of the
/// inputs' NaN: `without` is its answer to numbers_for_infinity(). nullopt if there is no such
/// element.
std::optional<Tensor> infinity_for_nan(const Comparison& comparison, const TensorView& without);

}  // namespace gpuemu
