// Keeps ptxas from fusing a multiplication with an addition.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::cuda {

/// add, sub and mul on floating-point types without a rounding modifier get .rn: the same value,
/// but not to be contracted. Every other byte stays as it is, and so do line numbers.
std::string pin_rounding(std::string_view ptx);

}  // namespace gpuemu::cuda
