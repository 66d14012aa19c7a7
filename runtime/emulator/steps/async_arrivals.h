// Completes asynchronous copies: at a wait for them, or at the mbarrier that they signal.
#pragma once

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

/// Waits until at most `left` of the last groups of each of `lanes` are in flight.
void wait_for_copies(Warp& warp, uint32_t lanes, uint32_t left);
/// Completes the copies that have started and will signal the mbarrier.
void settle_barrier(Block& block, uint32_t barrier);

}  // namespace gpuemu::emulator::steps
