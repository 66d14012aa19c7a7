// Computes occupancy: how many blocks of a kernel are resident at once.
#pragma once

#include <cstdint>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Returns the blocks per multiprocessor, limited by threads, shared memory, the maximum number of
/// blocks and, when they are known, registers. 0 when a block does not fit.
uint32_t blocks_per_multiprocessor(const FunctionState& function, uint64_t threads,
                                   uint64_t dynamic_shared_bytes);
/// Returns the blocks that the whole device holds at once.
uint64_t resident_blocks(const FunctionState& function, uint64_t threads,
                         uint64_t dynamic_shared_bytes);

}  // namespace gpuemu::libcuda
