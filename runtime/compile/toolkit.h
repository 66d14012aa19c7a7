// Where the parts of a CUDA toolkit are on this machine.
#pragma once

#include <string>
#include <vector>

namespace gpuemu::compile {

struct Toolkit {
  std::string nvrtc;                      ///< Path of libnvrtc.so.13, "" when there is none.
  std::string nvcc;                       ///< Path of nvcc, "" when there is none.
  std::string ptxas;                      ///< Path of the assembler, "" when there is none.
  std::string cuobjdump;                  ///< Where nvdisasm is too, without which it is blind.
  std::vector<std::string> include_dirs;  ///< The toolkit's, which NVRTC needs for cuda_fp16.h.
};

/// Looks at GPUEMU_CUDA_HOME, CUDA_HOME, beside the program, at the wheels folder cuda/nvidia/cu13
/// beside or above it, at /usr/local/cuda, at PATH and the toolkit of the nvcc there, and for NVRTC
/// where the loader looks.
Toolkit find_toolkit();

}  // namespace gpuemu::compile
