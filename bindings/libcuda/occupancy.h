// How many blocks of a kernel a multiprocessor of the emulated part holds.
#pragma once

#include <cstdint>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// By threads, shared memory and number. Registers count where they are known.
uint32_t blocks_per_multiprocessor(const FunctionState& function, uint64_t threads,
                                   uint64_t dynamic_shared_bytes);
/// Blocks that the whole device holds at once.
uint64_t resident_blocks(const FunctionState& function, uint64_t threads,
                         uint64_t dynamic_shared_bytes);

}  // namespace gpuemu::libcuda
