// Products of matrices by vectors (runtime/emulator/numerics/dot_tile.h).
#pragma once

#include "runtime/emulator/matrices/product.h"

namespace gpuemu::emulator::steps {

/// Computes a * b + c into `c` for floating-point factors. Returns false, with `c` unchanged, if
/// only the definition of each element gives the result.
bool multiply_tiles(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c, int sm);

/// Computes mma.sync with 16 rows and sums in f32 from registers to registers. Returns false, with
/// nothing written, if it is another product or as above.
bool multiply_fragments(Warp& warp, const TensorStep& matrices);

}  // namespace gpuemu::emulator::steps
