// Proves that the memory accesses of a kernel entry stay in bounds of their tensors for all data.
#pragma once

#include <vector>

#include "judge/inbounds/evaluator.h"
#include "judge/inbounds/launch_domain.h"
#include "runtime/ptx/module.h"

namespace gpuemu::inbounds {

/// Returns every access of `entry` in text order, with the proof result for all threads of all
/// launches of `space`. Requires `entry` to belong to `module`, which must be verified.
std::vector<Access> prove_accesses(const ptx::Module& module, const ptx::Function& entry,
                                   LaunchDomain space);

}  // namespace gpuemu::inbounds
