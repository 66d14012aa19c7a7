// Fuses products into the sums that use them, as the driver's compiler does.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// Replaces a multiplication without a rounding modifier by fma.rn in each of its uses, if every
/// use is an addition or subtraction without such a modifier, of the same type and .ftz and in the
/// same basic block. The results match those of ptxas; docs/internals/fidelity.md lists what ptxas
/// does beyond this. With a seed, about half of those products, drawn one by one, are not fused: a
/// compiler may fuse any of them, so every choice is legal.
void contract(ptx::Module& module, std::optional<uint64_t> seed = std::nullopt);

}  // namespace gpuemu::emulator
