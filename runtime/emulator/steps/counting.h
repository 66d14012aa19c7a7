// The handler that counts what an instruction does and then runs it. Code that counts has it
// everywhere (decode/instrument.cc), other code nowhere: counting costs nothing when it is off.
#pragma once

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

void count(Warp& warp, const Ins& ins);

}  // namespace gpuemu::emulator::steps
