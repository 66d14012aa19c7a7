// Compares two files of PTX or CUDA C++ as modules.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/config/config.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu {

struct KernelFiles {
  std::string before, after;  ///< Absolute paths; .cu files are compiled.
  std::string arch;           ///< The architecture that .cu files are compiled for.
  std::string cache_folder;   ///< Stores compiled PTX.
};

/// InvalidArgument if a path is not a file; otherwise errors of the compiler and the parser.
Result<KernelComparisonReply> compare_kernels(const Config& config, const KernelFiles& files);

}  // namespace gpuemu
