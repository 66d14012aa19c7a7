// NaN in the place of an infinity: formulas that are equal for all numbers, as 0.9 m + 0.1 g and
// m + 0.1 (g - m), or a mean of a sum and one that is updated, make either of infinite inputs.
#pragma once

#include <optional>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// The reference with NaN where the output has NaN and the reference an infinity. Absent where that
/// is nowhere, and where no input is infinite: an infinity that the op makes itself has one right
/// answer.
std::optional<Tensor> nan_for_infinity(const Comparison& comparison);

}  // namespace gpuemu
