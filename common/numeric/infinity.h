// Infinity, for code in which the standard's name would hide the formula.
#pragma once

#include <limits>

namespace gpuemu {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace gpuemu
