// The stage Rounding decides about errors beyond the bound of the tolerance "auto", element by
// element. With y the output, r the reference, and e the kernel's result without rounding:
//
// 1. e equals r, and results too small for their type explain y: the element passes.
// 2. e differs from r by more than the kernel's constants and the last place of its inputs explain:
//    the formula is a different one, and the finding stays.
// 3. y is as near to e as the precision of the inputs permits (Sensitivity): the element passes.
// 4. y is as near to r as a customary test requires (Customary): it passes with a warning.
// 5. Otherwise the finding stays and names the settings that would accept the element.
//
// With a scale of errors declared by the op, or with `strict`, only step 1 applies.
#pragma once

#include "common/config/vocabulary.h"
#include "daemon/case/stage.h"

namespace gpuemu {

/// The error scale that requests steps 1 to 3.
inline constexpr ErrorScale kShadowScale = ErrorScale::Shadow;

/// Removes the findings if only tolerances are exceeded and every exceeding element passes. Runs
/// the kernel without rounding once, and a few more times for steps 2 and 3. A case that is too
/// large for that, or on a device that cannot and has no emulator beside it, is judged by step 4
/// alone. The arena holds other tensors afterwards.
Result<Next> review_rounding(CaseWork& work);

}  // namespace gpuemu
