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

/// The types of a product of integers. In its tile a word holds 32 / bits elements that follow one
/// another along K, `depth` is twice the number of words, and C holds integers.
struct IntegerProduct {
  ptx::Type a, b;
  bool saturate;
  bool bits_and;  ///< One-bit elements: counts a & b, otherwise a ^ b.
};

/// A by K and row, B by column and K, C by column and row.
struct DoubleTile {
  static constexpr uint32_t kColumns = 8, kDepth = 16;
  uint32_t depth;
  alignas(64) std::array<std::array<double, kTileRows>, kDepth> a;
  std::array<std::array<double, kDepth>, kColumns> b;
  alignas(64) std::array<std::array<double, kTileRows>, kColumns> c;
};

/// What each instruction set of the host has for tiles. Those that return bool return false if a
/// value is not finite or leaves the range in which vectors are exact; dot.h then has the result.
struct TileFunctions {
  /// Computes the values and exponents of `a` and `b` from their words, of `depth` and `columns`.
  bool (*split_a)(Tile& tile, ptx::Type type);
  bool (*split_b)(Tile& tile, ptx::Type type);
  /// Adds the products to C, with the bits of dot_float.
  bool (*sum)(Tile& tile, const DotModel& model);
  /// Adds the products to C, which holds the bits of an f16, with the bits of dot_half.
  bool (*sum_halves)(Tile& tile, const DotModel& model);
  void (*sum_integers)(Tile& tile, const IntegerProduct& of);
  /// Adds the products to C one after another. Returns false if a result is NaN.
  bool (*sum_doubles)(DoubleTile& tile);
};

}  // namespace gpuemu::emulator
