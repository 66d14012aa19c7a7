// Tiles of tensor-core products.
#include "runtime/emulator/handlers/unit.h"
#include "runtime/emulator/numerics/dot_tile.h"

namespace gpuemu::emulator::GPUEMU_ISA {
#include "runtime/emulator/handlers/tiles.inc"
#include "runtime/emulator/handlers/tiles_exact.inc"

namespace {
bool split_a(Tile& tile, ptx::Type type) { return split(tile.a, tile.depth / 2 * kTileRows, type); }
bool split_b(Tile& tile, ptx::Type type) {
  return split(tile.b, tile.depth / 2 * tile.columns, type);
}
}  // namespace

TileFunctions tiles() {
  return {split_a, split_b, sum_tile<false>, sum_half_tile, sum_integer_tile, sum_double_tile};
}
}  // namespace gpuemu::emulator::GPUEMU_ISA
