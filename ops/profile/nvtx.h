// NVTX ranges, which Nsight tools show. Uses NVIDIA's headers (nvtx3), which look for a listening
// tool themselves (NVTX_INJECTION64_PATH, set by nsys). No NVTX library is needed, and without a
// tool a call only tests a pointer. Thread-safe.
#pragma once

#include <string>

namespace gpuemu::nvtx {

/// Returns false if the program was built without the headers; push() and pop() then do nothing.
bool is_built_in();
/// Begins a range of the calling thread; ranges nest.
void push(const std::string& name);
/// Ends the innermost range of the calling thread.
void pop();

}  // namespace gpuemu::nvtx
