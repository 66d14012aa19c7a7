// Products of matrices by vectors (runtime/emulator/numerics/dot_tile.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/emulator/matrices/product.h"

namespace gpuemu::emulator::steps {

/// Computes a * b + c into `c` for floating-point factors. Returns false, with `c` unchanged, if
/// only the definition of each element gives the result.
bool multiply_tiles(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c, int sm);

/// The same for integer factors, which are always exact.
void multiply_integer_tiles(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c);

/// Computes mma.sync from registers to registers. Returns false, with nothing written, if it is a
/// product of quads or of 8-bit floats, converts its sums, or only the definition of each element
/// gives the result.
bool multiply_fragments(Warp& warp, const TensorStep& matrices);

/// A factor in shared memory, read in chunks of 16 bytes, line after line: rows along M or N if K
/// is contiguous in a chunk, else rows along K.
struct Chunks {
  static constexpr uint32_t kBytes = 16;
  using Chunk = std::array<std::byte, kBytes>;
  std::vector<Chunk> all;
  uint32_t lines = 0, per_line = 0;
  bool by_row = true;
};
/// Computes the rows of one warp of wgmma with factors of 16 bits or integers. `a` is null if
/// registers hold it; without `adds` C is zero. Returns false, with nothing written, if only the
/// definition of each element gives the result.
bool multiply_group_tiles(Warp& warp, const TensorStep& matrices, const Chunks* a, const Chunks& b,
                          bool adds);

}  // namespace gpuemu::emulator::steps
