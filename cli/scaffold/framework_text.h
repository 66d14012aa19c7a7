// What `gpuemu init` writes for Python: a program for each framework that runs as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/scaffold/folder.h"

namespace gpuemu::cli {

/// Path in the project -> text, beside gpuemu.toml. `framework` is pytorch, jax, tensorflow, triton
/// or numba; empty for others. `found` kernels are named where the program is to be changed.
std::map<std::string, std::string> framework_files(const std::string& framework,
                                                   const std::vector<PythonKernel>& found);

}  // namespace gpuemu::cli
