// Machine code for what all 32 lanes of a warp do together: the straight-line runs of a
// function, branches that all of them take or none, instructions with guards of that kind, and
// shuffles of the whole warp. It does what the handlers do one after the other, but values stay in
// the processor's registers from one instruction to the next. Needs AVX-512; elsewhere, and
// wherever lanes diverge or wait for each other, the handlers run.
#pragma once

#include <cstdint>

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

/// Whether this processor can run compiled code. Thread-safe.
bool runs_compiled_code();

/// Fills Code::compiled for launches with these checks of accesses. If there is no memory for code,
/// or the function is too long, its entries stay empty. The compiled code is freed with `code`. Do
/// not call it while a launch runs the function.
void compile_code(Code& code, Accesses accesses);

}  // namespace gpuemu::emulator
