// Variants of elementwise ops that are compiled from one source when they are first called: for any
// strides, and for dtypes that have no entry in the program.
#pragma once

#include <string>
#include <vector>

#include "kernels/op.h"

namespace gpuemu::kernels {

/// Strides in the axes of y: 0 where the tensor repeats.
void add_broadcast_strides(LaunchStep& step, const DeviceTensor& x);

/// y = F(x) for up to four axes. `function`: its name in the CUDA source of the op.
KernelVariant generic_map(const std::string& function, std::vector<TypeRule> types);
/// y = F(a, b), which may broadcast where the op allows it.
KernelVariant generic_combine(const std::string& function, std::vector<TypeRule> types);

/// The dtypes of float_types() and all integers but bool.
std::vector<TypeRule> number_types();

}  // namespace gpuemu::kernels
