// Compares the dtypes of tensors with the types of the kernel's parameters.
#pragma once

#include <string>
#include <vector>

#include "common/config/kernel_config.h"
#include "common/config/op_config.h"
#include "daemon/kernels/prepared_kernel.h"

namespace gpuemu {

/// Describes each tensor whose elements are wider than those that the kernel's parameter points to:
/// an int64 tensor passed as `int const*` is read half by half. Narrower ones are no mistake, since
/// kernels load several at once. Entries that are not mangled have no types.
std::vector<std::string> wider_tensors(const OpConfig& op, const KernelConfig& kernel,
                                       const PreparedKernel& prepared, DType dtype);

}  // namespace gpuemu
