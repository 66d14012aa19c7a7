// Explains a wrong address: finds the 32-bit arithmetic that overflowed in its computation.
#pragma once

#include <string>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// Returns for the address of an access for example "; the index wrapped around: 65536 * 65536 does
/// not fit 32 bits in mul.lo.s32 ... at k.cu:12"; "" if no overflow is found. Examines only
/// registers with a single definition, which still hold the value that the address was computed
/// from.
std::string explain_wrap(Warp& warp, const Step& step, uint32_t lane);

}  // namespace gpuemu::emulator
