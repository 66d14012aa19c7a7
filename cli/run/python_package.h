// Finds the Python package gpuemu that belongs to this program, and prepares Python programs of
// `gpuemu run` with it.
#pragma once

#include <map>
#include <string>

namespace gpuemu::cli {

/// Returns the folder that holds the package: of an installation, of a wheel, or of the sources
/// that the program was built from; "" where none does, and Python has to find one.
std::string python_package_root(const std::string& program_folder);

/// Names the Python packages that are prepared, "torch,triton"; may be empty.
inline constexpr const char* kPreparedVariable = "GPUEMU_RUN_PREPARE";
/// What Triton's autotuner runs: "first" or "all".
inline constexpr const char* kAutotuneVariable = "GPUEMU_RUN_AUTOTUNE";
/// Set when torch gets the emulated device although it sees a GPU.
inline constexpr const char* kTorchForcedVariable = "GPUEMU_RUN_TORCH";

/// Makes every Python of the environment run the package's start-up hook. `packages` are the Python
/// packages that it prepares. Does nothing where there is no package.
void add_python_start(std::map<std::string, std::string>& environment, const std::string& root,
                      const std::string& packages);

}  // namespace gpuemu::cli
