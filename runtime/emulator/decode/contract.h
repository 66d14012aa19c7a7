// Products that become part of the sum that uses them, as the driver's compiler does it.
#pragma once

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// A multiplication without a rounding modifier whose every use is an addition or subtraction
/// without one, of the same type and .ftz and in the same basic block, becomes part of each of them
/// as fma.rn. Results are as if ptxas had done it; what it does beyond this is in docs/fidelity.md.
void contract(ptx::Module& module);

}  // namespace gpuemu::emulator
