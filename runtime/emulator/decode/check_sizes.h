// Refuses modules that need more than a GPU has, so that later offsets fit 32 bits and the host's
// memory.
#pragma once

#include "common/base/result.h"
#include "runtime/emulator/machine/program.h"

namespace gpuemu::emulator {

/// Compile error with the line of what is too big: parameters, local or shared variables.
Status check_sizes(const ptx::Module& module, const std::string& name);
/// ResourceExhausted for a function with too many registers, at which decode() stopped.
Status check_frames(const Program& program, const std::string& name);

}  // namespace gpuemu::emulator
