// NVTX ranges, which Nsight tools show. The calls are NVIDIA's headers (nvtx3), which look for a
// tool that listens by themselves (NVTX_INJECTION64_PATH, set by nsys): no library of NVTX is
// needed, and without a tool a call tests a pointer. Any thread.
#pragma once

#include <string>

namespace gpuemu::nvtx {

/// False in a program that was built without the headers: push() and pop() do nothing.
bool is_built_in();
/// Begins a range of the calling thread; they nest.
void push(const std::string& name);
/// Ends the innermost range of the calling thread.
void pop();

}  // namespace gpuemu::nvtx
