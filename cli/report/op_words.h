// Private to this folder: names of ops, kernels and modes that the text and JSON reports share.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"
#include "kernels/op.h"

namespace gpuemu::cli {

/// Returns the mode as `execution_mode` in gpuemu.toml spells it.
const char* mode_name(ExecutionMode mode);
std::vector<std::string> dtype_names(const std::vector<DType>& dtypes);
/// Returns the names of the ops that have this kernel among their variants.
std::vector<std::string> ops_of_kernel(const KernelConfig& kernel, const Config& config);
/// Returns the file of a built-in variant, or the library that computes it.
std::string variant_source(const KernelVariant& variant);

}  // namespace gpuemu::cli
