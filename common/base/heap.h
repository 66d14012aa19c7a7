// The heap of a process that does much the same again and again.
#pragma once

namespace gpuemu {

/// Keeps freed memory for the next case, up to a bound: given back to the system it costs a page
/// fault per 4 KiB to get it again, which for small cases takes longer than what the memory is for.
/// For main(), before any thread. Does nothing where the C library has no such switch.
void keep_freed_memory();

}  // namespace gpuemu
