// Calls nvcc so that the program it builds runs on the emulator: PTX alone, and the runtime library
// as a shared one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::cli {

/// The arguments for nvcc, without its name.
struct NvccArguments {
  std::vector<std::string> words;
  std::vector<std::string> left_out;  ///< Targets of machine code that were given, as "sm_80".
};

/// Adds -cudart=shared, -lineinfo, a target and an rpath of `library_folder` to the user's
/// arguments where they do not choose otherwise, and takes targets of machine code away. `--arch
/// sm_XX` is the target when the arguments have none; 80 without it. InvalidArgument for an
/// architecture that is no sm_XX.
/// Arguments with -cubin, which asks for machine code, stay as they are.
Result<NvccArguments> nvcc_arguments(const std::vector<std::string>& given,
                                     const std::string& library_folder);

/// Finds nvcc in PATH, or else in CUDA_HOME, CUDA_PATH or /usr/local/cuda. Programs in
/// `own_folder` are passed over. NotFound when there is none.
Result<std::string> find_nvcc(const std::map<std::string, std::string>& environment,
                              const std::string& own_folder);

/// Replaces this process by nvcc with these arguments; says on stderr what is left out. Returns
/// only when that fails. `program_folder` is the folder of this program.
Error become_nvcc(const std::vector<std::string>& given,
                  const std::map<std::string, std::string>& environment,
                  const std::string& program_folder);

}  // namespace gpuemu::cli
