// Finds the parts of a CUDA toolkit on this machine.
#pragma once

#include <string>
#include <vector>

namespace gpuemu::compile {

struct Toolkit {
  std::string nvrtc;      ///< Path of libnvrtc.so.13; "" if missing.
  std::string nvcc;       ///< Path of nvcc; "" if missing.
  std::string ptxas;      ///< Path of ptxas; "" if missing.
  std::string cuobjdump;  ///< Path of cuobjdump; "" unless nvdisasm, which it needs, is there too.
  /// The toolkit's headers; NVRTC needs them for cuda_fp16.h.
  std::vector<std::string> include_dirs;
};

/// Searches GPUEMU_CUDA_HOME, CUDA_HOME, the folder of the program, the wheels' folder
/// cuda/nvidia/cu13 beside or above it, /usr/local/cuda, PATH and the toolkit of the nvcc found
/// there. Searches the loader's folders for NVRTC.
Toolkit find_toolkit();

}  // namespace gpuemu::compile
