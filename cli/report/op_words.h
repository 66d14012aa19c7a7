// Private to this folder: what is said of ops and kernels both as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"
#include "kernels/op.h"

namespace gpuemu::cli {

/// The word of `execution_mode`.
const char* mode_name(ExecutionMode mode);
std::vector<std::string> dtype_names(const std::vector<DType>& dtypes);
/// Names of the ops that have the kernel among their variants.
std::vector<std::string> ops_of_kernel(const KernelConfig& kernel, const Config& config);
/// The file of a built-in variant, or the library that computes it.
std::string variant_source(const KernelVariant& variant);

}  // namespace gpuemu::cli
