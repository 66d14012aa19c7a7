// Parts of allocations, for clients with their own allocator. Findings name them, and kernels may
// not leave them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuemu::libcuda {

struct Process;
struct Allocation;

/// Applies parts that were declared before their memory was known. All functions here are
/// thread-safe.
void apply_ranges(Process& driver, const Allocation& made);
/// Ends the parts of a freed allocation.
void end_ranges_of(Process& driver, const Allocation& gone);

}  // namespace gpuemu::libcuda

// libcuda.so.1 exports these as gpuemu_range_begin and gpuemu_range_end.
extern "C" {
/// Declares that the client uses these bytes as one allocation, named `name` in findings; null
/// gives it a number as its name. Host memory may be declared before it is registered. Returns 0,
/// or CUDA_ERROR_INVALID_VALUE if the bytes are not in one allocation or overlap another range.
int gpuemu_driver_range_begin(const void* pointer, size_t bytes, const char* name);
/// Ends the range that begins at `pointer`; from now on it counts as freed. Returns 0, or
/// CUDA_ERROR_INVALID_VALUE if none begins there.
int gpuemu_driver_range_end(const void* pointer);
}
