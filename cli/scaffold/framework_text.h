// The Python files that `gpuemu init` writes: a runnable program for each framework.
#pragma once

#include <filesystem>
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

/// Names of the programs among these files.
inline constexpr const char* kPythonPrograms[] = {"check_kernels.py", "check_example.py"};

/// Tells which of them the folder has, beginning with "; "; empty if it has none.
std::string python_programs_hint(const std::filesystem::path& folder);

}  // namespace gpuemu::cli
