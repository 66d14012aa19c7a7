// Exported for libraries that read device memory in place, without a copy. Thread-safe.
#pragma once

#include <cstdint>

extern "C" {
/// Declares that the client accesses device memory without a call of the driver; otherwise it gets
/// SIGSEGV, as on a GPU. May be called before or after the memory is allocated.
void gpuemu_host_uses_device_memory();
/// Returns 1 once a kernel has stored a value that it computed from memory that was never written,
/// else 0: then gpuemu_reads() has nothing to find.
int gpuemu_keeps_undefined();
/// Reports that `what`, such as "aten::add", reads elements of `bytes` bytes in memory of a device:
/// `dims` dimensions with their sizes and their strides in bytes. Undefined values among them are
/// findings. Work on the device must have ended.
void gpuemu_reads(const char* what, uint64_t address, int dims, const int64_t* sizes,
                  const int64_t* strides, uint64_t bytes);
}
