// Follows undefined elements through products of matrices.
#pragma once

#include "runtime/emulator/code/matrix_step.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

/// Marks the elements of the result as undefined whose row of A, column of B or element of C has an
/// undefined one, before the product changes registers. Other results are defined. Only where
/// LaunchConfig::defers_undefined is set and a register is undefined.
void follow_product(Warp& warp, const Step& step, const TensorStep& matrices);

}  // namespace gpuemu::emulator::steps
