// Calls nvcc such that the program it builds runs on the emulator: with PTX only, and the runtime
// library linked dynamically.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::cli {

/// The arguments for nvcc, without its name.
struct NvccArguments {
  std::vector<std::string> words;
  std::vector<std::string> left_out;  ///< Requested targets of machine code that were dropped, such
                                      ///< as "sm_80".
};

/// Adds -cudart=shared, -lineinfo, a target and an rpath of `library_folder` to the user's
/// arguments, unless these choose otherwise, and removes targets of machine code. If the arguments
/// have no target, it is that of `--arch sm_XX`, by default 80. Arguments with -cubin, which
/// requests machine code, are not changed. InvalidArgument for an architecture that is not sm_XX.
Result<NvccArguments> nvcc_arguments(const std::vector<std::string>& given,
                                     const std::string& library_folder);

/// Finds nvcc in PATH, otherwise in CUDA_HOME, CUDA_PATH or /usr/local/cuda. Skips programs in
/// `own_folder`. NotFound if there is none.
Result<std::string> find_nvcc(const std::map<std::string, std::string>& environment,
                              const std::string& own_folder);

/// Replaces this process by nvcc with these arguments; lists dropped targets on stderr. Returns
/// only on failure. `program_folder` is the folder of this program.
Error become_nvcc(const std::vector<std::string>& given,
                  const std::map<std::string, std::string>& environment,
                  const std::string& program_folder);

}  // namespace gpuemu::cli
