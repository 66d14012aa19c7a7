// Recognises results of flushing subnormal numbers to zero: processors and compilers may do this to
// inputs and to results, and many frameworks enable it.
#pragma once

#include <optional>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// Returns the reference as a flushing computation would give it, for elements where that matches
/// the output. Numbers below the smallest normal one of the output's type all count as zero. An
/// element is taken from `of_flushed_inputs` (the reference for inputs with subnormals set to zero;
/// may be null) if the output is nearer to it. Absent if it equals the reference. float16 is never
/// flushed: only types with the range of float32 or more are.
std::optional<Tensor> flushed_reference(const Comparison& comparison,
                                        const TensorView* of_flushed_inputs);

/// Replaces every subnormal number by a zero of the same sign; absent if there is none.
std::optional<Tensor> flushed(const TensorView& tensor);

}  // namespace gpuemu
