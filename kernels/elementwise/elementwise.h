// Variants of elementwise ops that are compiled from one source on first use: for any strides, and
// for dtypes without a compiled entry.
#pragma once

#include <string>
#include <vector>

#include "kernels/op.h"

namespace gpuemu::kernels {

/// Adds strides in the axes of y: 0 where the tensor repeats.
void add_broadcast_strides(LaunchStep& step, const DeviceTensor& x);

/// y = F(x) for up to four axes. `function`: its name in the CUDA source of the op.
KernelVariant generic_map(const std::string& function, std::vector<TypeRule> types);
/// y = F(a, b), with broadcasting if the op allows it.
KernelVariant generic_combine(const std::string& function, std::vector<TypeRule> types);

/// Returns the dtypes of float_types() and all integers except bool.
std::vector<TypeRule> number_types();

}  // namespace gpuemu::kernels
