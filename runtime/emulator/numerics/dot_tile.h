// A tile of D = A * B + C for tensor cores, laid out for vectors of rows: what dot.h defines for
// one element, runtime/emulator/handlers/tiles.cc computes for sixteen rows at once.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/emulator/numerics/dot.h"
#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

inline constexpr uint32_t kTileRows = 16, kTileColumns = 256, kTileDepth = 32;

/// One factor of a tile. Two elements that follow one another along K are a pair.
template <uint32_t kPairs>
struct TileSide {
  /// The raw bits: an element of up to 16 bits is half of a word; of wider ones, the pairs' second
  /// elements follow in another plane.
  alignas(64) std::array<std::array<uint32_t, kPairs>, 2> words;
  /// The values of the pairs' first and second elements.
  alignas(64) std::array<std::array<float, kPairs>, 2> values;
  /// The exponents by which the unit aligns them; a pair in the halves of a word.
  alignas(64) std::array<uint32_t, kPairs> exponents;
};

/// Filled by the caller: the words of A by pair and row, of B by column and pair, and C by column
/// and row. Left uninitialised, because a whole tile is larger than most instructions need.
struct Tile {
  uint32_t depth, columns;
  TileSide<kTileDepth / 2 * kTileRows> a;
  TileSide<kTileDepth / 2 * kTileColumns> b;
  alignas(64) std::array<std::array<uint32_t, kTileRows>, kTileColumns> c;  ///< Bits of f32.
};

/// What each instruction set of the host has for tiles. The functions return false if a value is
/// not finite or leaves the range in which vectors are exact; dot.h then has the result.
struct TileFunctions {
  /// Computes the values and exponents of `a` and `b` from their words, of `depth` and `columns`.
  bool (*split_a)(Tile& tile, ptx::Type type);
  bool (*split_b)(Tile& tile, ptx::Type type);
  /// Adds the products to C, with the bits of dot_float.
  bool (*sum)(Tile& tile, const DotModel& model);
  /// Adds the products to C, whose values are those of an f16, with the bits of dot_half.
  bool (*sum_halves)(Tile& tile, const DotModel& model);
};

}  // namespace gpuemu::emulator
