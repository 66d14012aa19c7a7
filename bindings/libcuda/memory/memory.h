// Allocates and frees memory for the program, and checks ranges that its calls touch.
#pragma once

#include <cstdint>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// Allocates device memory in the context of `place` on behalf of the driver function `call`.
/// Returns CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE for zero bytes, CUDA_ERROR_OUT_OF_MEMORY, or the
/// error of refuse_unsafe(). All functions here are thread-safe.
int allocate_memory(const Place& place, uint64_t bytes, MemoryKind kind, const char* call,
                    Address* address, Pool pool = nullptr);
/// Allocates pinned or managed memory, which the host and kernels access at the same address.
int allocate_host(const Place& place, uint64_t bytes, MemoryKind kind, unsigned flags,
                  const char* call, void** memory, Pool pool = nullptr);
/// The function family that frees an allocation: cuMemFree, cuMemFreeHost, cuMemHostUnregister or
/// cuMemUnmap.
enum class FreedBy : uint8_t { Free, FreeHost, Unregister, Unmap };
FreedBy freed_by(const Allocation& one);
/// Frees the allocation that starts at `address`. For any other address, and for memory that other
/// functions free, it records an InvalidFree and returns CUDA_ERROR_INVALID_VALUE.
int free_memory(Process& driver, uint64_t address, FreedBy by, const char* call);
/// Registers mapped virtual memory as an allocation, on behalf of `call`. release_memory() ends
/// that.
int adopt_virtual(const Place& place, uint64_t address, uint64_t bytes, const char* call);
/// Adopts mapped memory of any kind, requested at `site`.
int adopt_memory(const Place& place, MemoryKind kind, uint64_t address, uint64_t bytes,
                 std::shared_ptr<const CallSite> site);
/// Frees an allocation of a context that is being destroyed; records no finding.
void release_memory(Process& driver, uint64_t address, const char* call);

/// Returns false and records a finding of `call` when the range runs past the end of an allocation
/// or touches freed memory. Returns true for an address in no known allocation: it may be a
/// variable of a module, and the device decides.
bool check_device_range(Process& driver, uint64_t address, uint64_t bytes, const char* call);
/// Checks memory of the host: returns false for pinned or managed memory that was freed.
bool check_host_range(Process& driver, uint64_t address, uint64_t bytes, const char* call);

}  // namespace gpuemu::libcuda
