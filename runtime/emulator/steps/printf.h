// What kernels call without a body: vprintf and __assertfail.
#pragma once

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

void print(Warp& warp, const CallSite& site);
void assert_failed(Warp& warp, const Ins& ins, const CallSite& site);

}  // namespace gpuemu::emulator::steps
