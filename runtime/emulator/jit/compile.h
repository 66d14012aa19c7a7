// Compiles what all 32 lanes of a warp do together to machine code: straight lines, branches that
// all lanes or none take, instructions with such guards, and shuffles of the whole warp. The code
// does the same as the handlers, but keeps values in processor registers between instructions.
// Requires AVX-512, or AVX2 with FMA and F16C. Without them, and wherever lanes diverge or wait for
// each other, the handlers run.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/emulator/code/step.h"
#include "runtime/emulator/jit/target.h"

namespace gpuemu::emulator {

/// Returns the instruction set of compiled code, which is that of the handlers; null if no code is
/// compiled for it. Thread-safe.
std::optional<Target> target_of_compiled_code();
/// Returns whether this processor can run compiled code. Thread-safe.
bool runs_compiled_code();

/// Fills Code::compiled for launches with these checks. Compiles for target_of_compiled_code(), or
/// for `target`, which this processor may lack. The entries stay empty if the function is too long
/// or there is no memory for its code, which is freed with `code`. Must not be called while a
/// launch runs the function.
void compile_code(Code& code, Accesses accesses);
void compile_code(Code& code, Accesses accesses, Target target);

}  // namespace gpuemu::emulator
