// Tracks undefined elements through matrix products.
#pragma once

#include "runtime/emulator/code/matrix_step.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

/// Marks an element of the result as undefined if its row of A, its column of B, its element of C
/// or the metadata of its row contain an undefined one; other results are defined. Called before
/// the product changes registers. Acts only if LaunchConfig::defers_undefined is set and a register
/// is undefined.
void follow_product(Warp& warp, const Step& step, const TensorStep& matrices);

}  // namespace gpuemu::emulator::steps
