// Moves the rounded constants of a kernel by a unit in the last place: 0.9f is not 0.9.
#pragma once

#include <cstdint>
#include <string>

namespace gpuemu {

/// Whether a float32 probably comes from a decimal number that was rounded. Whole numbers and those
/// of ten bits are taken as exact.
bool was_rounded(float value);

/// The PTX with every float32 constant that was rounded a unit in the last place away, up or down
/// by chance of `draw`, the same way wherever it stands. What is left of 1 has the last place of
/// what was taken away: `1 - 0.999f` is a whole multiple of 2^-24. Decisions follow the constants,
/// unlike those of ShadowConfig::nudge.
std::string with_moved_constants(const std::string& ptx, uint64_t draw);

}  // namespace gpuemu
