// Private to this folder: names of ops, kernels and modes shared by the text and JSON reports.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"
#include "kernels/op.h"

namespace gpuemu::cli {

/// The mode as `execution_mode` in gpuemu.toml spells it.
const char* mode_name(ExecutionMode mode);
std::vector<std::string> dtype_names(const std::vector<DType>& dtypes);
/// Names of the ops with this kernel among their variants.
std::vector<std::string> ops_of_kernel(const KernelConfig& kernel, const Config& config);
/// The file of a built-in variant, or the library that computes it.
std::string variant_source(const KernelVariant& variant);

}  // namespace gpuemu::cli
