// Converts whole arrays between the 16-bit formats, float32 and float64, with vector instructions
// if the processor has them. Each element has the same result as in half.h.
#pragma once

#include <cstddef>
#include <span>

#include "common/numeric/dtype.h"

namespace gpuemu {

/// Converts to float64. Requires a float dtype narrower than float64, and from.size() == to.size()
/// * byte_size(dtype).
void widen_floats(DType dtype, std::span<const std::byte> from, std::span<double> to);
/// Converts from float64, rounding once to nearest even. Requires the same in the other direction.
void narrow_floats(DType dtype, std::span<const double> from, std::span<std::byte> to);

}  // namespace gpuemu
