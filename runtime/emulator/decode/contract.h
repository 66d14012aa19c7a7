// Fuses products into the sums that use them, as the driver's compiler does.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// A multiplication without a rounding modifier whose every use is an addition or subtraction
/// without one, of the same type and .ftz and in the same basic block, becomes part of each of them
/// as fma.rn. Results are as if ptxas had done it; what it does beyond this is in
/// docs/internals/fidelity.md. With a seed about half of those products, drawn one by one, stay as
/// they are: a compiler may fuse any of them, so every choice is a legal one.
void contract(ptx::Module& module, std::optional<uint64_t> seed = std::nullopt);

}  // namespace gpuemu::emulator
