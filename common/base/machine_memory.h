// How much memory this process may use at most.
#pragma once

#include <cstdint>

namespace gpuemu {

/// The machine's memory in bytes, or the limit of the control group that this process runs in where
/// that is smaller, as it is in a container. 0 when neither is known.
uint64_t machine_memory_bytes();

}  // namespace gpuemu
