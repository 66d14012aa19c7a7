// The limits of the real GPUs that the emulator stands for.
#pragma once

#include <cstdint>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

struct Part {
  int sm;
  uint32_t multiprocessors;  ///< Multiprocessors of the largest common model.
  uint32_t shared_per_block, shared_per_multiprocessor, threads, blocks;
};

/// Returns the newest model that is not newer than `sm`.
const Part& part_of(int sm);

/// Returns how many blocks of the launch the model holds at once, by threads, shared memory and the
/// block limit. Registers are unknown, so the true number may be lower.
uint64_t blocks_held(const Part& part, const Launch& launch);

}  // namespace gpuemu::emulator
