// Machine code for the straight stretches of a function: what lies between branches, barriers and
// other instructions that concern more than one lane at a time. It does for all 32 lanes what the
// handlers do one after the other, but values stay in the processor's registers from one
// instruction to the next. Needs AVX-512; elsewhere, and where a launch asks for more than this
// code knows, the handlers run.
#pragma once

#include <cstdint>

#include "runtime/emulator/machine/ins.h"

namespace gpuemu::emulator {

/// Whether this processor runs what is compiled. Any thread.
bool runs_compiled_stretches();

/// Fills Code::compiled for accesses of this kind. Where memory for code cannot be had, or the
/// function is too long, its entries stay empty. The code is freed with `code`. Not while a launch
/// runs it.
void compile_stretches(Code& code, Accesses accesses);

}  // namespace gpuemu::emulator
