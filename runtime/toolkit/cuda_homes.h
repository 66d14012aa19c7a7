// Finds the places where CUDA may be installed on this machine.
#pragma once

#include <filesystem>
#include <vector>

namespace gpuemu {

/// Returns folders that may be a toolkit, in search order: GPUEMU_CUDA_HOME, CUDA_HOME, beside the
/// program, the wheels' folder cuda/nvidia/cu13 beside or above the program, /usr/local/cuda. They
/// need not exist.
std::vector<std::filesystem::path> cuda_homes();

}  // namespace gpuemu
