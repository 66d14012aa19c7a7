// Finds NVIDIA's libnvrtc as the program would have loaded it.
#pragma once

namespace gpuemu::libnvrtc {

/// Returns a function of NVIDIA's library; null if the library is not found, lacks the function
/// because it is too old, or cannot be loaded, which is reported once on standard error. The
/// library is searched in the folders of $GPUEMU_RUN_NVRTC and LD_LIBRARY_PATH, in those of the
/// program and its libraries (RPATH, RUNPATH), in those of CUDA toolkits, and in those of the
/// system. Thread-safe. The library stays loaded.
void* real_function(const char* name);

}  // namespace gpuemu::libnvrtc
