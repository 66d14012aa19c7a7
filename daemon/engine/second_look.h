// What runs without rounding say of errors that exceed the bound.
//
// Of every op with the tolerance "auto": results that are too small for their type are rounded to a
// multiple of the smallest subnormal number, which no bound relative to the values covers, and a
// division by something small makes it large again. Where the kernel's formula gives the reference,
// and the error is no larger than what this alone may do according to the bounds of the shadows,
// the element passes.
//
// Of error_scale = "shadow": an error counts as rounding where the kernel's formula gives the
// reference, and the error is no larger than what a change of the inputs in their last place makes
// of the exact result. No formula could do better from inputs of that precision.
#pragma once

#include "daemon/engine/run_case.h"

namespace gpuemu {

/// The name of that error scale.
inline constexpr const char* kShadowScale = "shadow";

/// Whether the case is one to look at again: tolerances alone are exceeded, of an op with that
/// scale or by little enough for small results, the device or another lane has shadows, and the
/// case is not too large.
bool wants_second_look(const CaseRequest& request, const CaseOutcome& outcome);

/// Removes the findings where every element of `outcome.doubtful` is excused. Runs the kernel once
/// without rounding; with error_scale = "shadow" three times more, on the case's inputs, and twice
/// on inputs one unit in the last place away. The arena holds other tensors afterwards.
Status look_again(const CaseRequest& request, CaseMachine machine, CaseOutcome& outcome);

}  // namespace gpuemu
