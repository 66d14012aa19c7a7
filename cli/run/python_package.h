// Finds the Python package gpuemu that belongs to this program, and uses it to prepare Python
// programs of `gpuemu run`.
#pragma once

#include <map>
#include <string>

namespace gpuemu::cli {

/// Returns the folder with the package: that of an installation, of a wheel, or of the sources that
/// the program was built from. Returns "" if there is none, so that Python must find one.
std::string python_package_root(const std::string& program_folder);

/// Lists the Python packages to prepare, as in "torch,triton"; may be empty.
inline constexpr const char* kPreparedVariable = "GPUEMU_RUN_PREPARE";
/// The configurations that Triton's autotuner runs: "first" or "all".
inline constexpr const char* kAutotuneVariable = "GPUEMU_RUN_AUTOTUNE";
/// Set if torch gets the emulated device although it sees a GPU.
inline constexpr const char* kTorchForcedVariable = "GPUEMU_RUN_TORCH";

/// Makes every Python in the environment run the package's start-up hook, which prepares the Python
/// packages in `packages`. Does nothing if there is no package.
void add_python_start(std::map<std::string, std::string>& environment, const std::string& root,
                      const std::string& packages);

}  // namespace gpuemu::cli
