// The race detectors: what was accessed without an order between the threads that did.
#pragma once

#include "runtime/emulator/machine/access.h"

namespace gpuemu::emulator {

/// Shared memory, between warps (barriers order them) and between the lanes of one warp (warp-level
/// instructions do). `same_value` are the lanes of a store that write what is already there.
void note_shared(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes, Access access,
                 uint32_t lanes, uint32_t same_value);

/// Lanes of one store that write different values to one place.
void check_clashes(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t lanes,
                   bool shared);

}  // namespace gpuemu::emulator
