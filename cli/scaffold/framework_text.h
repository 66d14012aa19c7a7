// The Python files that `gpuemu init` writes: a runnable program for each framework.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/scaffold/folder.h"

namespace gpuemu::cli {

/// Returns path in the project -> text, besides gpuemu.toml. `framework` is pytorch, jax,
/// tensorflow, triton or numba; empty for others. The program mentions the `found` kernels where it
/// must be changed.
std::map<std::string, std::string> framework_files(const std::string& framework,
                                                   const std::vector<PythonKernel>& found);

}  // namespace gpuemu::cli
