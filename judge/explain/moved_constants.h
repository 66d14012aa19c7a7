// Moves the rounded constants of a kernel by a unit in the last place, because 0.9f is not 0.9.
#pragma once

#include <cstdint>
#include <string>

namespace gpuemu {

/// Returns whether a float32 is probably a rounded decimal number. Whole numbers and those with at
/// most ten bits count as exact.
bool was_rounded(float value);

/// Returns the PTX with every rounded float32 constant moved by a unit in the last place, up or
/// down depending on `draw`, in the same direction wherever it occurs. A constant computed as 1
/// minus something has the last place of that: `1 - 0.999f` is a whole multiple of 2^-24. Unlike
/// with ShadowConfig::nudge, decisions follow the moved constants.
std::string with_moved_constants(const std::string& ptx, uint64_t draw);

}  // namespace gpuemu
