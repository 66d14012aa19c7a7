// Lays out the shared memory of a program.
#pragma once

#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {

/// Places the shared variables that functions use at offsets which hold in every kernel, and finds
/// for each kernel how much of them it needs and which other variables of the module it uses. A
/// kernel takes no shared memory for what only other kernels use.
void lay_out_shared(Program& program);

}  // namespace gpuemu::emulator
