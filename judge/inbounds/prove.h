// Whether the memory accesses of a kernel entry stay inside of their tensors, whatever the data.
#pragma once

#include <vector>

#include "judge/inbounds/evaluator.h"
#include "judge/inbounds/launch_domain.h"
#include "runtime/ptx/module.h"

namespace gpuemu::inbounds {

/// Every access of `entry`, in the order of its text, for all threads of all launches of `space`.
/// REQUIRES: `entry` is of `module`, which was verified.
std::vector<Access> prove_accesses(const ptx::Module& module, const ptx::Function& entry,
                                   LaunchDomain space);

}  // namespace gpuemu::inbounds
