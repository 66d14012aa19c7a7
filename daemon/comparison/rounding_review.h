// The stage Rounding: what becomes of errors beyond the bound of the tolerance "auto", element by
// element, with y the output, r the reference and e what the kernel gives without rounding:
//
// 1. e is r, and results too small for their type explain y: passes.
// 2. e is not r, by more than what constants of the kernel and the last place of its inputs may do:
//    the formula is another one, and the finding stays.
// 3. y is as near to e as inputs of their precision allow (Sensitivity): passes.
// 4. y is as near to r as a customary test demands (Customary): passes with a warning.
// 5. The finding stays and names the settings that would accept the element.
//
// An op that declares a scale of its errors, or `strict`, has 1 and no more.
#pragma once

#include "common/config/vocabulary.h"
#include "daemon/case/stage.h"

namespace gpuemu {

/// The error scale that asks for 1 to 3.
inline constexpr ErrorScale kShadowScale = ErrorScale::Shadow;

/// Where tolerances alone are exceeded: removes the findings if every exceeding element passes.
/// Runs the kernel without rounding once, and for 2 and 3 a few times more. A case too large for
/// that, or on a device that cannot and has no emulator beside it, is judged by 4 alone. The arena
/// holds other tensors afterwards.
Result<Next> review_rounding(CaseWork& work);

}  // namespace gpuemu
