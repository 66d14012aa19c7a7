#include "runtime/emulator/matrices/tile_product.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <emmintrin.h>

#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/numerics/dot.h"
#include "runtime/emulator/numerics/dot_tile.h"
#include "runtime/emulator/numerics/narrow.h"

namespace gpuemu::emulator::steps {
namespace {
using ptx::Type;

constexpr uint32_t kQuad = 4, kGroups = 8;

bool is_wide(Type type) { return type == Type::TF32; }
bool is_factor(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::TF32 || type == Type::E4M3 ||
         type == Type::E5M2;
}

/// Four vectors of four words.
struct Square {
  __m128i rows[4];
  Square turned() const {
    const __m128i a = _mm_unpacklo_epi32(rows[0], rows[1]),
                  b = _mm_unpackhi_epi32(rows[0], rows[1]),
                  c = _mm_unpacklo_epi32(rows[2], rows[3]),
                  d = _mm_unpackhi_epi32(rows[2], rows[3]);
    return {{_mm_unpacklo_epi64(a, c), _mm_unpackhi_epi64(a, c), _mm_unpacklo_epi64(b, d),
             _mm_unpackhi_epi64(b, d)}};
  }
};
const __m128i* vector_at(const uint32_t* words) { return reinterpret_cast<const __m128i*>(words); }
__m128i* vector_at(uint32_t* words) { return reinterpret_cast<__m128i*>(words); }

/// Copies the eight words of each lane of a quad, one per quad, to `to(lane)`.
template <typename To>
void turn_from_lanes(const uint32_t* lanes, const To& to) {
  for (uint32_t half = 0; half < 2; ++half) {
    Square square;
    for (uint32_t i = 0; i < kQuad; ++i) {
      square.rows[i] = _mm_loadu_si128(vector_at(lanes + (half * kQuad + i) * kQuad));
    }
    square = square.turned();
    for (uint32_t i = 0; i < kQuad; ++i) {
      _mm_storeu_si128(vector_at(to(i) + half * kQuad), square.rows[i]);
    }
  }
}
/// The reverse.
template <typename From>
void turn_to_lanes(uint32_t* lanes, const From& from) {
  for (uint32_t half = 0; half < 2; ++half) {
    Square square;
    for (uint32_t i = 0; i < kQuad; ++i) {
      square.rows[i] = _mm_loadu_si128(vector_at(from(i) + half * kQuad));
    }
    square = square.turned();
    for (uint32_t i = 0; i < kQuad; ++i) {
      _mm_storeu_si128(vector_at(lanes + (half * kQuad + i) * kQuad), square.rows[i]);
    }
  }
}

/// Where the word of register `reg` of lane `within` of a quad is in a side of a tile: the plane
/// and the pair.
struct WordPlace {
  uint32_t plane, pair;
};
WordPlace word_place(Type type, uint32_t reg, uint32_t within) {
  if (is_wide(type)) return {within % 2, reg * 2 + within / 2};
  return {0, reg * kQuad + within};
}

void take_a(Warp& warp, const TensorOperand& a, Tile& tile) {
  for (uint32_t reg = 0; reg < a.registers.size(); ++reg) {
    turn_from_lanes(warp.u32(a.registers[reg]), [&](uint32_t within) {
      const WordPlace place = word_place(a.type, reg / 2, within);
      return &tile.a.words[place.plane][place.pair * kTileRows + reg % 2 * kGroups];
    });
  }
}
void take_b(Warp& warp, const TensorOperand& b, Tile& tile) {
  const uint32_t pairs = tile.depth / 2;
  for (uint32_t reg = 0; reg < b.registers.size(); ++reg) {
    const uint32_t* lanes = warp.u32(b.registers[reg]);
    for (uint32_t column = 0; column < kGroups; ++column) {
      for (uint32_t within = 0; within < kQuad; ++within) {
        const WordPlace place = word_place(b.type, reg, within);
        tile.b.words[place.plane][column * pairs + place.pair] = lanes[column * kQuad + within];
      }
    }
  }
}
/// Returns the place in C of register `reg` of lane `within` of the first quad.
uint32_t* sums_of(Tile& tile, uint32_t reg, uint32_t within) {
  return &tile.c[reg / 4 * kGroups + within * 2 + reg % 2][reg / 2 % 2 * kGroups];
}

template <typename Side>
void put(Side& side, size_t at, bool wide, uint64_t first, uint64_t second) {
  side.words[0][at] = static_cast<uint32_t>(wide ? first : first | second << 16);
  side.words[1][at] = static_cast<uint32_t>(second);
}

/// A part of a product that fills a tile: rows from `row`, columns from `column`.
class Part {
 public:
  Part(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c)
      : of_(matrices), a_(a), b_(b), c_(c), tile_(std::make_unique_for_overwrite<Tile>()) {
    tile_->depth = of_.a.columns;
  }

  /// Computes the part's elements into `out`.
  bool multiply(uint32_t row, uint32_t column, const DotModel& model, Matrix& out) {
    const TileFunctions& functions = tile_functions();
    tile_->columns = std::min(of_.d.columns - column, kTileColumns);
    rows_ = std::min(of_.d.rows - row, kTileRows);
    put_a(row);
    put_b(column);
    const bool from_half = of_.c.type == Type::F16, to_half = of_.d.type == Type::F16;
    for (uint32_t j = 0; j < tile_->columns; ++j) {
      tile_->c[j].fill(0);
      for (uint32_t i = 0; i < rows_; ++i) {
        const auto bits = static_cast<uint32_t>(c_.at(row + i, column + j));
        tile_->c[j][i] = from_half ? float_from_half(bits) : bits;
      }
    }
    const bool exact =
        functions.split_a(*tile_, of_.a.type) && functions.split_b(*tile_, of_.b.type);
    const auto sum = from_half && to_half ? functions.sum_halves : functions.sum;
    if (!exact || !sum(*tile_, model)) return false;
    for (uint32_t j = 0; j < tile_->columns; ++j) {
      for (uint32_t i = 0; i < rows_; ++i) {
        out.at(row + i, column + j) = to_half ? half_from_float(tile_->c[j][i]) : tile_->c[j][i];
      }
    }
    return true;
  }

 private:
  void put_a(uint32_t row) {
    const uint64_t sign = of_.negate ? uint64_t{1} << (element_bits(of_.a.type) - 1) : 0;
    for (uint32_t pair = 0; pair < tile_->depth / 2; ++pair) {
      for (uint32_t i = 0; i < kTileRows; ++i) {
        const bool some = i < rows_;
        put(tile_->a, pair * kTileRows + i, is_wide(of_.a.type),
            some ? a_.at(row + i, pair * 2) ^ sign : 0,
            some ? a_.at(row + i, pair * 2 + 1) ^ sign : 0);
      }
    }
  }
  void put_b(uint32_t column) {
    const uint32_t pairs = tile_->depth / 2;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
      for (uint32_t j = 0; j < tile_->columns; ++j) {
        put(tile_->b, j * pairs + pair, is_wide(of_.b.type), b_.at(pair * 2, column + j),
            b_.at(pair * 2 + 1, column + j));
      }
    }
  }

  const TensorStep& of_;
  Matrix &a_, &b_, &c_;
  std::unique_ptr<Tile> tile_;
  uint32_t rows_ = 0;
};

}  // namespace

bool multiply_tiles(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c, int sm) {
  const uint32_t depth = matrices.a.columns;
  if (!is_factor(matrices.a.type) || !is_factor(matrices.b.type) || depth % 2 != 0 ||
      depth > kTileDepth) {
    return false;
  }
  const DotModel model = dot_model(sm, matrices.a.type, unit_of(matrices.kind));
  Matrix out(matrices.d.rows, matrices.d.columns);
  Part part(matrices, a, b, c);
  for (uint32_t row = 0; row < matrices.d.rows; row += kTileRows) {
    for (uint32_t column = 0; column < matrices.d.columns; column += kTileColumns) {
      if (!part.multiply(row, column, model, out)) return false;
    }
  }
  c = std::move(out);
  return true;
}

namespace {
void take_sums(Warp& warp, const TensorOperand& c, Tile& tile) {
  for (uint32_t reg = 0; reg < c.registers.size(); ++reg) {
    turn_from_lanes(warp.u32(c.registers[reg]),
                    [&](uint32_t within) { return sums_of(tile, reg, within); });
  }
}
void give_sums(Warp& warp, const TensorOperand& d, Tile& tile) {
  for (uint32_t reg = 0; reg < d.registers.size(); ++reg) {
    turn_to_lanes(warp.u32(d.registers[reg]),
                  [&](uint32_t within) { return sums_of(tile, reg, within); });
  }
}
/// Multiplies the factors that the tile holds; writes nothing unless all is exact.
bool multiply_tile(Warp& warp, const TensorStep& matrices, Tile& tile) {
  const TileFunctions& functions = tile_functions();
  if (!functions.split_a(tile, matrices.a.type) || !functions.split_b(tile, matrices.b.type)) {
    return false;
  }
  const DotModel model = dot_model(warp.launch->inputs.sm, matrices.a.type, unit_of(matrices.kind));
  if (!functions.sum(tile, model)) return false;
  give_sums(warp, matrices.d, tile);
  return true;
}

/// Returns the four words of a chunk whose elements are a pair with those of the next line, for the
/// first or the last four rows.
__m128i paired(const Chunks& from, uint32_t line, uint32_t chunk, uint32_t half) {
  const auto at = [&](uint32_t of) {
    const auto* bytes = from.all[of * from.per_line + chunk].data();
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  };
  const __m128i first = at(line), second = at(line + 1);
  return half == 0 ? _mm_unpacklo_epi16(first, second) : _mm_unpackhi_epi16(first, second);
}
/// Calls `put` with the index along M or N, the pair and its word.
template <typename Put>
void each_word(const Chunks& from, const Put& put) {
  for (uint32_t line = 0; line < from.lines; line += from.by_row ? 1 : 2) {
    for (uint32_t chunk = 0; chunk < from.per_line; ++chunk) {
      uint32_t words[kQuad * 2];
      if (from.by_row) {
        std::memcpy(words, from.all[line * from.per_line + chunk].data(), Chunks::kBytes);
        for (uint32_t i = 0; i < kQuad; ++i) put(line, chunk * kQuad + i, words[i]);
        continue;
      }
      for (uint32_t half = 0; half < 2; ++half) {
        _mm_storeu_si128(vector_at(words + half * kQuad), paired(from, line, chunk, half));
      }
      for (uint32_t i = 0; i < kQuad * 2; ++i) put(chunk * kQuad * 2 + i, line / 2, words[i]);
    }
  }
}
bool is_half(Type type) { return type == Type::F16 || type == Type::BF16; }
}  // namespace

bool multiply_fragments(Warp& warp, const TensorStep& matrices) {
  const TensorOperand &a = matrices.a, &d = matrices.d;
  if (matrices.kind != TensorKind::Mma || d.of_quads || d.rows != kTileRows ||
      d.type != Type::F32 || matrices.c.type != Type::F32 || warp.masks.running != kNone) {
    return false;
  }
  if (!is_half(a.type) && !is_wide(a.type)) return false;
  Tile tile;
  tile.depth = a.columns;
  tile.columns = d.columns;
  take_a(warp, a, tile);
  take_b(warp, matrices.b, tile);
  take_sums(warp, matrices.c, tile);
  return multiply_tile(warp, matrices, tile);
}

bool multiply_group_tiles(Warp& warp, const TensorStep& matrices, const Chunks* a, const Chunks& b,
                          bool adds) {
  if (!is_half(matrices.a.type) || !is_half(matrices.b.type) || matrices.d.type != Type::F32 ||
      warp.masks.running != kNone) {
    return false;
  }
  Tile tile;
  tile.depth = matrices.a.columns;
  tile.columns = matrices.d.columns;
  const uint32_t pairs = tile.depth / 2;
  if (a == nullptr) {
    take_a(warp, matrices.a, tile);
  } else {
    each_word(*a, [&](uint32_t row, uint32_t pair, uint32_t word) {
      tile.a.words[0][pair * kTileRows + row] = word;
    });
  }
  if (matrices.negate) {
    for (uint32_t at = 0; at < pairs * kTileRows; ++at) tile.a.words[0][at] ^= 0x80008000;
  }
  each_word(b, [&](uint32_t column, uint32_t pair, uint32_t word) {
    tile.b.words[0][column * pairs + pair] = word;
  });
  if (adds) {
    take_sums(warp, matrices.d, tile);
  } else {
    std::fill_n(tile.c[0].data(), size_t{tile.columns} * kTileRows, uint32_t{0});
  }
  return multiply_tile(warp, matrices, tile);
}

}  // namespace gpuemu::emulator::steps
