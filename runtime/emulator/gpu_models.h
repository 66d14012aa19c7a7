// What the real parts have that the emulator stands for.
#pragma once

#include <cstdint>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

struct Part {
  int sm;
  uint32_t multiprocessors;  ///< Multiprocessors of the largest common model.
  uint32_t shared_per_block, shared_per_multiprocessor, threads, blocks;
};

/// The newest one that is not newer than `sm`.
const Part& part_of(int sm);

/// Blocks of the launch that it holds at once: by threads, shared memory and number. How many
/// registers a block will have is not known, so that it may be fewer.
uint64_t blocks_held(const Part& part, const Launch& launch);

}  // namespace gpuemu::emulator
