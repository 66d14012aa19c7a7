// Tunes the heap of processes that allocate similar memory again and again.
#pragma once

#include <cstdint>

namespace gpuemu {

/// Keeps freed memory for the next case, up to a bound. Memory returned to the system costs a page
/// fault per 4 KiB when it is allocated again, which for small cases takes longer than using it.
/// Called by main() before any thread starts. Has no effect if the C library has no such option.
void keep_freed_memory();

/// Returns all freed memory to the system. Every thread's part of the heap keeps some of its own,
/// so a process of many threads that each served something large holds a multiple of the bound.
void release_freed_memory();

/// Returns the bytes of memory that the process occupies now; 0 if that is unknown.
uint64_t resident_bytes();

}  // namespace gpuemu
