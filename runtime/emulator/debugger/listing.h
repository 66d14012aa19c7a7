// Describes a module to a debugger: its instructions, registers and variables.
#pragma once

#include <string>
#include <vector>

#include "runtime/device/debug.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {

/// Lists the functions in the order of Program::functions.
DebugProgram listing_of(const Program& program);

/// Returns the type of each register, such as "f32": the one used by instructions that write it,
/// else by those that read it, else the declared one.
std::vector<std::string> register_types(const ptx::Function& function);

/// Returns the registers that each instruction writes.
std::vector<std::vector<uint32_t>> results_of(const ptx::Function& function);

/// Returns the element type, such as "f32", that all loads and stores of shared memory in the
/// function use. Returns "" if they differ or are untyped, since compilers declare arrays as bytes.
std::string shared_type(const ptx::Function& function);

}  // namespace gpuemu::emulator
