// Elements at given ranks of values in any order, without sorting all of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "judge/scan/percentiles.h"

namespace gpuemu {

/// Values that lie in several places.
using Parts = std::vector<std::span<const double>>;
using Ranks = std::array<uint64_t, kPercentileCount>;

/// Returns the elements at `ranks` (ascending) of all values. Requires finite values of at
/// least 0, none of them -0.
std::array<double, kPercentileCount> select_ranks(const Parts& parts, const Ranks& ranks);

}  // namespace gpuemu
