// Compiles what all 32 lanes of a warp do together to machine code: straight lines, branches that
// all lanes or none take, instructions with such guards, and shuffles of the whole warp. The code
// does the same as the handlers, but keeps values in processor registers between instructions.
// Requires AVX-512. Without it, and wherever lanes diverge or wait for each other, the handlers
// run.
#pragma once

#include <cstdint>

#include "runtime/emulator/code/step.h"

namespace gpuemu::emulator {

/// Returns whether this processor can run compiled code. Thread-safe.
bool runs_compiled_code();

/// Fills Code::compiled for launches with these checks. If there is no memory for code, or the
/// function is too long, the entries stay empty. The compiled code is freed with `code`. Must not
/// be called while a launch runs the function.
void compile_code(Code& code, Accesses accesses);

}  // namespace gpuemu::emulator
