// Exported for libraries that read device memory in place, without a copy. Thread-safe.
#pragma once

#include <cstdint>

extern "C" {
/// Says that the client touches device memory without a call of the driver; without that it gets
/// SIGSEGV, as on a GPU. Before the memory is allocated, or at any time later.
void gpuemu_host_uses_device_memory();
/// Returns 1 once a kernel has stored a value that it computed from memory that nothing wrote, else
/// 0: then gpuemu_reads() has nothing to find.
int gpuemu_keeps_undefined();
/// Says that `what`, such as "aten::add", reads elements of `bytes` bytes in memory of a device:
/// `dims` dimensions with their sizes and their strides in bytes. Undefined values among them are
/// findings. Work on the device must be over.
void gpuemu_reads(const char* what, uint64_t address, int dims, const int64_t* sizes,
                  const int64_t* strides, uint64_t bytes);
}
