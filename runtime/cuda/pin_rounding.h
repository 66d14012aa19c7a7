// Prevents ptxas from fusing a multiplication with an addition.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::cuda {

/// Adds .rn to add, sub and mul on floating-point types without a rounding modifier: the results
/// stay the same, but the instruction is not contracted. All other bytes and the line numbers stay
/// unchanged.
std::string pin_rounding(std::string_view ptx);

}  // namespace gpuemu::cuda
