// Where CUDA may lie on this machine.
#pragma once

#include <filesystem>
#include <vector>

namespace gpuemu {

/// Folders that may be a toolkit, in the order in which they are looked at: GPUEMU_CUDA_HOME,
/// CUDA_HOME, beside the program, the wheels folder cuda/nvidia/cu13 beside or above it,
/// /usr/local/cuda. They need not exist.
std::vector<std::filesystem::path> cuda_homes();

}  // namespace gpuemu
