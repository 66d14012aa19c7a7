// Refuses modules that need more than a GPU has. Ensures that later offsets fit 32 bits and the
// host's memory.
#pragma once

#include "common/base/result.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {

/// Fails with Compile, giving the line, if parameters, local or shared variables are too large.
Status check_sizes(const ptx::Module& module, const std::string& name);
/// Fails with ResourceExhausted for a function with too many registers, at which decode() stopped.
Status check_frames(const Program& program, const std::string& name);

}  // namespace gpuemu::emulator
