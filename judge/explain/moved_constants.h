// What rounding may have made of a kernel's constants: 0.9f is not 0.9.
#pragma once

#include <cstdint>
#include <string>

namespace gpuemu {

/// Whether the decimal text of a number was rounded to float32: what is whole or takes ten bits is
/// meant as it is.
bool was_rounded(float value);

/// The PTX with every float32 constant that was rounded a unit in the last place away, up or down
/// by chance of `draw`, the same way wherever it stands. What is left of 1 has the last place of
/// what was taken away: `1 - 0.999f` is a whole multiple of 2^-24. Decisions follow the constants,
/// unlike those of ShadowConfig::nudge.
std::string with_moved_constants(const std::string& ptx, uint64_t draw);

}  // namespace gpuemu
