// How much host memory the threads of a launch may take, and how many blocks fit into it.
#pragma once

#include "common/base/result.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// Bytes of one block's registers, shared and local memory and their shadows, before any call.
uint64_t block_bytes(const Launch& launch);

/// What fits `limit` bytes: host threads with a block in progress each, and blocks in progress per
/// thread.
struct Residency {
  uint32_t threads = 1, blocks = 1;
};
/// At most what `wanted` says. ResourceExhausted when not a single block fits.
Result<Residency> fit_blocks(const Launch& launch, Residency wanted, uint64_t limit);

/// After a read that makes the rest of the launch a matter of chance: as long again as it took to
/// come there, some times over, is enough to see what else is wrong.
void end_soon(Launch& launch);

}  // namespace gpuemu::emulator
