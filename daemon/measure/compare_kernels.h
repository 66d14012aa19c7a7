// Two files of PTX or CUDA C++ as modules, compared.
#pragma once

#include <string>

#include "common/base/result.h"
#include "common/config/config.h"
#include "common/protocol/replies.h"

namespace gpuemu {

struct KernelFiles {
  std::string before, after;  ///< Absolute paths; .cu files are compiled.
  std::string arch;           ///< For those.
  std::string cache_folder;   ///< Where compiled PTX is kept.
};

/// InvalidArgument if a path is not a file; the compiler's and the parser's errors.
Result<KernelComparisonReply> compare_kernels(const Config& config, const KernelFiles& files);

}  // namespace gpuemu
