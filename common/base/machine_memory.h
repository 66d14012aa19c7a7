// Determines how much memory this process may use.
#pragma once

#include <cstdint>

namespace gpuemu {

/// Returns the machine's memory in bytes, or the limit of the process's control group if that is
/// smaller, as in a container. 0 if both are unknown.
uint64_t machine_memory_bytes();

}  // namespace gpuemu
