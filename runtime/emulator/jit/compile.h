// Machine code for what all 32 lanes of a warp do together: the straight stretches of a function,
// branches that all of them take or none, instructions with guards of that kind, and shuffles of
// the whole warp. It does what the handlers do one after the other, but values stay in the
// processor's registers from one instruction to the next. Needs AVX-512; elsewhere, and wherever
// lanes part or wait for each other, the handlers run.
#pragma once

#include <cstdint>

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

/// Whether this processor runs what is compiled. Any thread.
bool runs_compiled_code();

/// Fills Code::compiled for launches that ask this of accesses. Where memory for code cannot be
/// had, or the function is too long, its entries stay empty. The code is freed with `code`. Not
/// while a launch runs it.
void compile_code(Code& code, Accesses accesses);

}  // namespace gpuemu::emulator
