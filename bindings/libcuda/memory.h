// Memory of the program: made and freed.
#pragma once

#include <cstdint>

#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {

/// For the current context; `call` asks. A CUresult.
int allocate_memory(const Place& place, uint64_t bytes, MemoryKind kind, const char* call,
                    Address* address);
/// Pinned or managed: one address for the host and kernels.
int allocate_host(const Place& place, uint64_t bytes, MemoryKind kind, unsigned flags,
                  const char* call, void** memory);
/// What `call` frees; an address that is no live allocation is a finding.
int free_memory(Process& driver, uint64_t address, const char* call);
/// Frees without asking what it is; for contexts that end.
void release_memory(Process& driver, uint64_t address, const char* call);

/// Whether `bytes` there are inside of one allocation, of the device or of the host. Otherwise a
/// finding of `call` says what is wrong: beyond an allocation's end, or freed.
bool check_device_range(Process& driver, uint64_t address, uint64_t bytes, const char* call);

}  // namespace gpuemu::libcuda
