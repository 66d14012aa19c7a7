// Conversions of whole arrays between the 16-bit formats, float32 and float64, with the vector
// instructions of the processor where it has them. Element by element the same as half.h.
#pragma once

#include <cstddef>
#include <span>

#include "common/numeric/dtype.h"

namespace gpuemu {

/// To float64. REQUIRES: dtype is a float type narrower than float64;
/// from.size() == to.size() * byte_size(dtype).
void widen_floats(DType dtype, std::span<const std::byte> from, std::span<double> to);
/// To nearest even, rounded once. REQUIRES: as above, the other way round.
void narrow_floats(DType dtype, std::span<const double> from, std::span<std::byte> to);

}  // namespace gpuemu
