// Answers calls of functions that are not implemented.
#pragma once

namespace gpuemu::libcudart {

/// Reports the function on stderr the first time, counts it for the report, and returns
/// cudaErrorNotSupported. Thread-safe.
int unsupported_call(const char* name);

}  // namespace gpuemu::libcudart
