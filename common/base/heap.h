// Tunes the heap of processes that allocate similar memory again and again.
#pragma once

namespace gpuemu {

/// Keeps freed memory for the next case, up to a bound. Memory returned to the system costs a page
/// fault per 4 KiB when it is allocated again, which for small cases takes longer than using it.
/// Called by main() before any thread starts. Has no effect if the C library has no such option.
void keep_freed_memory();

}  // namespace gpuemu
