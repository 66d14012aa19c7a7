// Accepts NaN instead of an infinity, and the reverse. Formulas that agree for all finite numbers,
// such as 0.9 m + 0.1 g and m + 0.1 (g - m), or a mean from a sum and a running mean, may give
// either one for infinite inputs. The same is true of a factor that underflows to 0 in the
// reference's float64.
#pragma once

#include <optional>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// Returns false for a type without infinities.
bool has_infinity(const TensorView& view);

/// Returns a copy of the reference with NaN where the output has NaN and the reference an infinity.
/// Nothing if there is no such element or no infinite input: for finite inputs, only the infinity
/// is right.
std::optional<Tensor> nan_for_infinity(const Comparison& comparison);

/// Returns a copy of the reference with the output's infinity where the reference has a NaN that is
/// not due to NaN in the inputs: `without` is its answer to numbers_for_infinity(). Nothing if
/// there is no such element.
std::optional<Tensor> infinity_for_nan(const Comparison& comparison, const TensorView& without);

}  // namespace gpuemu
