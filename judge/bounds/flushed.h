// Results that flushing subnormal numbers to zero explains: processors and compilers may take such
// numbers as zero, as inputs and as results, and many frameworks ask for it.
#pragma once

#include <optional>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// The reference as a computation that flushes would give it, where that is what came out: numbers
/// below the smallest normal one of the output's type all count as zero, and an element is that of
/// `of_flushed_inputs` (the reference for inputs whose subnormal numbers are zero; may be null)
/// where the output is nearer to it. Absent when it says the same as the reference. Numbers of
/// float16 are never taken as zero: only types with the range of float32 or more are flushed.
std::optional<Tensor> flushed_reference(const Comparison& comparison,
                                        const TensorView* of_flushed_inputs);

/// Zero of the same sign instead of every subnormal number; absent when there is none.
std::optional<Tensor> flushed(const TensorView& tensor);

}  // namespace gpuemu
