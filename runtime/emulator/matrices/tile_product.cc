#include "runtime/emulator/matrices/tile_product.h"

#include <algorithm>
#include <bit>
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

IntegerProduct integers_of(const TensorStep& matrices) {
  return {matrices.a.type, matrices.b.type, matrices.saturate, matrices.bits_and};
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
    const bool from_half = of_.c.type == Type::F16, to_half = of_.d.type == Type::F16,
               halves = from_half && to_half;
    put_c(row, column, from_half && !halves);
    const bool exact =
        functions.split_a(*tile_, of_.a.type) && functions.split_b(*tile_, of_.b.type);
    if (!exact || !(halves ? functions.sum_halves : functions.sum)(*tile_, model)) return false;
    for (uint32_t j = 0; j < tile_->columns; ++j) {
      for (uint32_t i = 0; i < rows_; ++i) {
        const uint32_t bits = tile_->c[j][i];
        out.at(row + i, column + j) = to_half && !halves ? half_from_float(bits) : bits;
      }
    }
    return true;
  }
  /// The same of integers, whose `bits` are those of an element.
  void multiply_integers(uint32_t row, uint32_t column, uint32_t bits, Matrix& out) {
    const uint32_t per_word = 32 / bits, words = of_.a.columns / per_word;
    tile_->depth = words * 2;
    tile_->columns = std::min(of_.d.columns - column, kTileColumns);
    rows_ = std::min(of_.d.rows - row, kTileRows);
    for (uint32_t word = 0; word < words; ++word) {
      for (uint32_t i = 0; i < kTileRows; ++i) {
        uint32_t made = 0;
        for (uint32_t k = 0; i < rows_ && k < per_word; ++k) {
          made |= static_cast<uint32_t>(a_.at(row + i, word * per_word + k)) << k * bits;
        }
        tile_->a.words[0][word * kTileRows + i] = made;
      }
      for (uint32_t j = 0; j < tile_->columns; ++j) {
        uint32_t made = 0;
        for (uint32_t k = 0; k < per_word; ++k) {
          made |= static_cast<uint32_t>(b_.at(word * per_word + k, column + j)) << k * bits;
        }
        tile_->b.words[0][j * words + word] = made;
      }
    }
    put_c(row, column, false);
    tile_functions().sum_integers(*tile_, integers_of(of_));
    for (uint32_t j = 0; j < tile_->columns; ++j) {
      for (uint32_t i = 0; i < rows_; ++i) out.at(row + i, column + j) = tile_->c[j][i];
    }
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
  void put_c(uint32_t row, uint32_t column, bool widens) {
    for (uint32_t j = 0; j < tile_->columns; ++j) {
      tile_->c[j].fill(0);
      for (uint32_t i = 0; i < rows_; ++i) {
        const auto bits = static_cast<uint32_t>(c_.at(row + i, column + j));
        tile_->c[j][i] = widens ? float_from_half(bits) : bits;
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
  DotModel model = dot_model(sm, matrices.a.type, unit_of(matrices.kind));
  // The unit adds as many products at once as of a dense A; the zeros beside them change no sum.
  if (matrices.sparsity) model.block *= 2;
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

void multiply_integer_tiles(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c) {
  Matrix out(matrices.d.rows, matrices.d.columns);
  Part part(matrices, a, b, c);
  const uint32_t bits = element_bits(matrices.a.type);
  for (uint32_t row = 0; row < matrices.d.rows; row += kTileRows) {
    for (uint32_t column = 0; column < matrices.d.columns; column += kTileColumns) {
      part.multiply_integers(row, column, bits, out);
    }
  }
  c = std::move(out);
}

namespace {
/// Registers of C hold a number each, or two halves that lie beside one another.
void take_halves(Warp& warp, const TensorOperand& c, Tile& tile) {
  for (uint32_t reg = 0; reg < c.registers.size(); ++reg) {
    const uint32_t* lanes = warp.u32(c.registers[reg]);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t row = lane / kQuad + reg % 2 * kGroups,
                     column = reg / 2 * kGroups + lane % kQuad * 2;
      tile.c[column][row] = lanes[lane] & 0xffff;
      tile.c[column + 1][row] = lanes[lane] >> 16;
    }
  }
}
void give_halves(Warp& warp, const TensorOperand& d, const Tile& tile) {
  for (uint32_t reg = 0; reg < d.registers.size(); ++reg) {
    uint32_t* const lanes = warp.u32(d.registers[reg]);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t row = lane / kQuad + reg % 2 * kGroups,
                     column = reg / 2 * kGroups + lane % kQuad * 2;
      lanes[lane] = tile.c[column][row] | tile.c[column + 1][row] << 16;
    }
  }
}
void take_sums(Warp& warp, const TensorOperand& c, Tile& tile) {
  if (c.type == Type::F16) return take_halves(warp, c, tile);
  for (uint32_t reg = 0; reg < c.registers.size(); ++reg) {
    turn_from_lanes(warp.u32(c.registers[reg]),
                    [&](uint32_t within) { return sums_of(tile, reg, within); });
  }
}
void give_sums(Warp& warp, const TensorOperand& d, Tile& tile) {
  if (d.type == Type::F16) return give_halves(warp, d, tile);
  for (uint32_t reg = 0; reg < d.registers.size(); ++reg) {
    turn_to_lanes(warp.u32(d.registers[reg]),
                  [&](uint32_t within) { return sums_of(tile, reg, within); });
  }
}
/// Multiplies the factors that the tile holds; writes nothing unless all is exact.
bool multiply_tile(Warp& warp, const TensorStep& matrices, Tile& tile) {
  const TileFunctions& functions = tile_functions();
  if (matrices.d.type == Type::S32) {
    functions.sum_integers(tile, integers_of(matrices));
    give_sums(warp, matrices.d, tile);
    return true;
  }
  if (!functions.split_a(tile, matrices.a.type) || !functions.split_b(tile, matrices.b.type)) {
    return false;
  }
  const DotModel model = dot_model(warp.launch->inputs.sm, matrices.a.type, unit_of(matrices.kind));
  const auto sum = matrices.d.type == Type::F16 ? functions.sum_halves : functions.sum;
  if (!sum(tile, model)) return false;
  give_sums(warp, matrices.d, tile);
  return true;
}

/// mma of doubles; writes nothing unless all results are numbers.
bool multiply_double_fragments(Warp& warp, const TensorStep& matrices) {
  DoubleTile tile;
  tile.depth = matrices.a.columns;
  for (auto& line : tile.a) line.fill(0);
  for (auto& line : tile.c) line.fill(0);
  const auto value = [&](uint32_t reg, uint32_t lane) {
    return std::bit_cast<double>(warp.u64(reg)[lane]);
  };
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t group = lane / kQuad, within = lane % kQuad;
    for (uint32_t reg = 0; reg < matrices.a.registers.size(); ++reg) {
      const bool lower = matrices.d.rows == kTileRows && reg % 2 != 0;
      const uint32_t k = (matrices.d.rows == kTileRows ? reg / 2 : reg) * kQuad + within;
      tile.a[k][group + (lower ? kGroups : 0)] = value(matrices.a.registers[reg], lane);
    }
    for (uint32_t reg = 0; reg < matrices.b.registers.size(); ++reg) {
      tile.b[group][reg * kQuad + within] = value(matrices.b.registers[reg], lane);
    }
    for (uint32_t reg = 0; reg < matrices.c.registers.size(); ++reg) {
      tile.c[within * 2 + reg % 2][group + reg / 2 * kGroups] =
          value(matrices.c.registers[reg], lane);
    }
  }
  if (!tile_functions().sum_doubles(tile)) return false;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t reg = 0; reg < matrices.d.registers.size(); ++reg) {
      warp.u64(matrices.d.registers[reg])[lane] = std::bit_cast<uint64_t>(
          tile.c[lane % kQuad * 2 + reg % 2][lane / kQuad + reg / 2 * kGroups]);
    }
  }
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

/// Returns whether vectors compute sums of this type, of factors that need no conversion.
bool has_tiles(const TensorStep& matrices) {
  const Type a = matrices.a.type, d = matrices.d.type;
  if (d == Type::S32) return true;
  if (matrices.c.type != d) return false;
  return d == Type::F32 ? is_half(a) || is_wide(a) : d == Type::F16 && a == Type::F16;
}
}  // namespace

bool multiply_fragments(Warp& warp, const TensorStep& matrices) {
  const TensorOperand &a = matrices.a, &d = matrices.d;
  if (matrices.kind != TensorKind::Mma || d.of_quads || warp.masks.running != kNone) return false;
  if (d.type == Type::F64) return multiply_double_fragments(warp, matrices);
  if (!has_tiles(matrices)) return false;
  Tile tile;
  const bool integers = d.type == Type::S32;
  tile.depth = integers ? a.columns * element_bits(a.type) / 16 : a.columns;
  tile.columns = d.columns;
  if (d.rows != kTileRows) {  // What is behind the rows is computed, too.
    std::fill_n(tile.a.words[0].begin(), tile.depth / 2 * kTileRows, uint32_t{0});
    for (uint32_t column = 0; column < d.columns; ++column) tile.c[column].fill(0);
  }
  take_a(warp, a, tile);
  take_b(warp, matrices.b, tile);
  take_sums(warp, matrices.c, tile);
  return multiply_tile(warp, matrices, tile);
}

bool multiply_group_tiles(Warp& warp, const TensorStep& matrices, const Chunks* a, const Chunks& b,
                          bool adds) {
  const bool integers = matrices.d.type == Type::S32,
             halves = is_half(matrices.a.type) && is_half(matrices.b.type) &&
                      (matrices.d.type == Type::F32 || matrices.a.type == Type::F16);
  if ((!integers && !halves) || warp.masks.running != kNone) return false;
  Tile tile;
  tile.depth = integers ? matrices.a.columns / 2 : matrices.a.columns;
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
