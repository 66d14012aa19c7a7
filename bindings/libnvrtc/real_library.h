// NVIDIA's libnvrtc, as the program would have loaded it.
#pragma once

namespace gpuemu::libnvrtc {

/// A function of NVIDIA's library; null where the library is not found, is too old to have the
/// function, or cannot be loaded, which is said once on standard error. It is looked for in the
/// folders of $GPUEMU_RUN_NVRTC and LD_LIBRARY_PATH, in those that the program and its libraries
/// name (RPATH, RUNPATH), in those of CUDA toolkits, and in the system's. Safe to call from any
/// thread. The library stays loaded.
void* real_function(const char* name);

}  // namespace gpuemu::libnvrtc
