// Explains a wrong address: finds 32-bit arithmetic that overflowed on the way to it.
#pragma once

#include <string>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// "; the index wrapped around: 65536 * 65536 does not fit 32 bits in mul.lo.s32 ... at k.cu:12"
/// for the address of an access, "" when no such arithmetic is found. Looks only at registers with
/// a single definition, which still hold what the address was made from.
std::string explain_wrap(Warp& warp, const Step& step, uint32_t lane);

}  // namespace gpuemu::emulator
