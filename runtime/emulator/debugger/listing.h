// What a module looks like to somebody who steps through it.
#pragma once

#include <string>
#include <vector>

#include "runtime/device/debug.h"
#include "runtime/emulator/machine/program.h"

namespace gpuemu::emulator {

/// Functions in the order of Program::functions.
DebugProgram listing_of(const Program& program);

/// Per register what the instructions that write it take it for, else those that read it: "f32",
/// or as declared where all are untyped.
std::vector<std::string> register_types(const ptx::Function& function);

/// The registers that each instruction writes.
std::vector<std::vector<uint32_t>> results_of(const ptx::Function& function);

/// What all loads and stores of shared memory in the function take its elements for: "f32". ""
/// where they differ or say nothing: compilers declare arrays as bytes.
std::string shared_type(const ptx::Function& function);

}  // namespace gpuemu::emulator
