// Compares the sums of tiles of each instruction set with the definition for one element, over
// random bits: values of every size, zeros, subnormals, and values that are not finite.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/numerics/dot.h"
#include "runtime/emulator/numerics/dot_tile.h"

namespace gpuemu::emulator {
namespace {
using ptx::Type;

/// How the bits of elements are drawn.
enum class Values : uint8_t { Bits, Near, Moderate, Equal, Tiny, Sparse, kCount };

struct Format {
  Type type;
  uint32_t bits, fraction;
};
constexpr Format kFormats[] = {{Type::F16, 16, 10},
                               {Type::BF16, 16, 7},
                               {Type::TF32, 32, 23},
                               {Type::E4M3, 8, 3},
                               {Type::E5M2, 8, 2}};

class Draw {
 public:
  explicit Draw(uint32_t seed) : next_(seed) {}
  uint32_t word() { return static_cast<uint32_t>(next_()); }

  uint32_t element(const Format& format, Values values) {
    const uint32_t sign = word() % 2 << (format.bits - 1),
                   size = word() & ((uint32_t{1} << (format.bits - 1)) - 1);
    const uint32_t one = factor_one(format);
    switch (values) {
      case Values::Bits:
        return sign | (not_finite(format, size) && word() % 2000 != 0 ? size & one : size);
      case Values::Near:  // From 1/8 up to 16.
        return sign | (one + (word() % 7 << format.fraction) - (3u << format.fraction) +
                       (size & ((1u << format.fraction) - 1)));
      case Values::Moderate:
        return sign | moderate(format, size);
      case Values::Equal:  // The largest significand: the sum of a block leaves 32 bits.
        return one + ((1u << format.fraction) - 1);
      case Values::Tiny:
        return sign | (size & ((4u << format.fraction) - 1));
      default:
        return word() % 8 == 0 ? sign | moderate(format, size) : sign;
    }
  }
  uint32_t addend(Values values) {
    const uint32_t bits = word();
    if (values == Values::Bits && bits % 4 == 0) return word();
    if (bits % 16 == 1) return word() & 0x807fffff;  // Zero or subnormal.
    if (bits % 16 == 2) return word() & 0x80000000;
    if (bits % 16 == 3) return word() & 0x800003ff;  // Less than wgmma keeps of 8-bit floats.
    return (word() & 0x807fffff) | (127 - 40 + word() % 70) << 23;
  }

 private:
  static bool not_finite(const Format& format, uint32_t size) {
    const Factor factor = factor_of(size, format.type);
    return factor.nan || factor.infinite;
  }
  /// The size, or a finite one between 2^-40 and 2^40 with the same significand.
  static uint32_t moderate(const Format& format, uint32_t size) {
    const Factor factor = factor_of(size, format.type);
    const bool moderate = !not_finite(format, size) && std::abs(factor.exponent) < 40;
    return moderate ? size : size % (1u << format.fraction) | factor_one(format);
  }
  static uint32_t factor_one(const Format& format) {
    const uint32_t exponent_bits = format.bits - 1 - format.fraction;
    return ((1u << (exponent_bits - 1)) - 1) << format.fraction;
  }
  std::mt19937 next_;
};

/// The elements of a product, by index of row or column and then along K.
struct Product {
  uint32_t depth, columns;
  std::vector<uint32_t> a, b, c;
  Product(Draw& draw, const Format& format, uint32_t with_depth, uint32_t with_columns,
          Values values, bool halves)
      : depth(with_depth), columns(with_columns) {
    for (uint32_t i = 0; i < kTileRows * depth; ++i) a.push_back(draw.element(format, values));
    for (uint32_t i = 0; i < columns * depth; ++i) b.push_back(draw.element(format, values));
    for (uint32_t i = 0; i < kTileRows * columns; ++i) {
      c.push_back(halves ? draw.element(format, values) : draw.addend(values));
    }
  }
  std::vector<Factor> factors(const std::vector<uint32_t>& of, uint32_t line, Type type) const {
    std::vector<Factor> out;
    for (uint32_t k = 0; k < depth; ++k) out.push_back(factor_of(of[line * depth + k], type));
    return out;
  }
};

template <typename Side>
void put(Side& side, size_t at, const uint32_t* pair, uint32_t bits) {
  side.words[0][at] = bits == 32 ? pair[0] : pair[0] | pair[1] << 16;
  side.words[1][at] = pair[1];
}

std::unique_ptr<Tile> tile_of(const Product& product, const Format& format) {
  auto tile = std::make_unique<Tile>();
  const uint32_t pairs = product.depth / 2;
  tile->depth = product.depth;
  tile->columns = product.columns;
  for (uint32_t pair = 0; pair < pairs; ++pair) {
    for (uint32_t i = 0; i < kTileRows; ++i)
      put(tile->a, pair * kTileRows + i, &product.a[i * product.depth + pair * 2], format.bits);
    for (uint32_t j = 0; j < product.columns; ++j)
      put(tile->b, j * pairs + pair, &product.b[j * product.depth + pair * 2], format.bits);
  }
  for (uint32_t i = 0; i < kTileRows * product.columns; ++i)
    tile->c[i % product.columns][i / product.columns] = product.c[i];
  return tile;
}

/// Counts what was taken by vectors, so that a path that is never taken shows.
struct Taken {
  uint32_t vectors = 0, all = 0;
};

class Tiles : public testing::TestWithParam<size_t> {
 protected:
  const InstructionSet& set() const { return instruction_sets()[GetParam()]; }
  void SetUp() override {
    if (!set().available()) GTEST_SKIP() << "this processor has no " << set().title;
  }

  /// Compares one product with the definition of each element.
  void compare(const Product& product, const Format& format, const DotModel& model, bool halves,
               Taken& taken) const {
    const TileFunctions functions = set().tiles();
    auto tile = tile_of(product, format);
    ++taken.all;
    if (!functions.split_a(*tile, format.type) || !functions.split_b(*tile, format.type)) return;
    if (!(halves ? functions.sum_halves : functions.sum)(*tile, model)) return;
    ++taken.vectors;
    for (uint32_t i = 0; i < kTileRows; ++i) {
      for (uint32_t j = 0; j < product.columns; ++j) {
        const uint32_t c = product.c[i * product.columns + j];
        const auto a = product.factors(product.a, i, format.type),
                   b = product.factors(product.b, j, format.type);
        const uint32_t expected = (halves ? dot_half : dot_float)(a, b, c, model);
        ASSERT_EQ(tile->c[j][i], expected)
            << set().title << ", type " << static_cast<int>(format.type) << ", row " << i
            << ", column " << j;
      }
    }
  }

  Taken compare_many(const Format& format, const DotModel& model, bool halves,
                     Values values) const {
    Taken taken;
    for (uint32_t seed = 0; seed < 40; ++seed) {
      Draw draw(seed);
      for (const uint32_t depth : {4u, 8u, 16u, 32u}) {
        compare(Product(draw, format, depth, 8, values, halves), format, model, halves, taken);
        if (testing::Test::HasFatalFailure()) return taken;
      }
    }
    return taken;
  }
};

TEST_P(Tiles, HaveTheBitsOfTheDefinition) {
  for (const Format& format : kFormats) {
    for (const int sm : {75, 80, 90}) {
      for (const DotUnit unit : {DotUnit::Mma, DotUnit::Wmma, DotUnit::Wgmma}) {
        const DotModel model = dot_model(sm, format.type, unit);
        for (auto values = Values::Bits; values != Values::kCount;
             values = static_cast<Values>(static_cast<int>(values) + 1)) {
          const Taken taken = compare_many(format, model, false, values);
          if (HasFatalFailure()) return;
          // Others hold values that are not finite, or whose exponents do not fit.
          if (values == Values::Near || values == Values::Moderate || values == Values::Sparse) {
            EXPECT_EQ(taken.vectors, taken.all);
          }
        }
      }
    }
  }
}
TEST_P(Tiles, RoundTheSumsOfHalvesLikeTheDefinition) {
  for (const int sm : {75, 80, 90}) {
    const DotModel model = dot_model(sm, Type::F16, DotUnit::Mma);
    for (auto values = Values::Bits; values != Values::kCount;
         values = static_cast<Values>(static_cast<int>(values) + 1)) {
      const Taken taken = compare_many(kFormats[0], model, true, values);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(values == Values::Equal || taken.vectors > taken.all / 8) << taken.vectors;
    }
  }
}

TEST_P(Tiles, HoldTheLargestProduct) {
  Taken taken;
  for (const Format& format : kFormats) {
    const DotModel model = dot_model(90, format.type, DotUnit::Wgmma);
    Draw draw(7);
    const Product product(draw, format, kTileDepth, kTileColumns, Values::Moderate, false);
    compare(product, format, model, false, taken);
  }
  EXPECT_EQ(taken.vectors, taken.all);
}

/// Integers in words, the way registers hold them.
struct Integers {
  uint32_t bits;
  bool is_signed;
  int64_t at(uint32_t word, uint32_t element) const {
    const auto value = static_cast<int64_t>(word >> element * bits & ((1u << bits) - 1));
    return is_signed && (value >> (bits - 1)) != 0 ? value - (int64_t{1} << bits) : value;
  }
};
Integers integers_of(Type type) {
  const bool eight = type == Type::S8 || type == Type::U8;
  return {type == Type::B1 ? 1u : eight ? 8u : 4u, type == Type::S8 || type == Type::S4};
}
/// The sum as the ISA defines it, of words of A and B.
uint32_t plain_sum(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t c,
                   const IntegerProduct& of) {
  const Integers left = integers_of(of.a), right = integers_of(of.b);
  int64_t sum = static_cast<int32_t>(c);
  for (size_t word = 0; word < a.size(); ++word) {
    for (uint32_t at = 0; at < 32 / left.bits; ++at) {
      const int64_t x = left.at(a[word], at), y = right.at(b[word], at);
      sum += of.a != Type::B1 ? x * y : of.bits_and ? x & y : x ^ y;
    }
  }
  if (of.saturate) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
  return static_cast<uint32_t>(sum);
}

TEST_P(Tiles, AddIntegersAsTheyAreDefined) {
  constexpr Type kTypes[][2] = {{Type::S8, Type::S8}, {Type::S8, Type::U8}, {Type::U8, Type::S8},
                                {Type::U8, Type::U8}, {Type::S4, Type::S4}, {Type::S4, Type::U4},
                                {Type::U4, Type::S4}, {Type::U4, Type::U4}, {Type::B1, Type::B1}};
  std::mt19937 next(3);
  for (const auto& [a_type, b_type] : kTypes) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
      const IntegerProduct of{a_type, b_type, a_type != Type::B1 && seed % 2 != 0, seed % 3 == 0};
      const uint32_t words = uint32_t{1} << seed % 5, columns = 8 << seed % 3;
      // The largest and the smallest numbers, whose sums leave 32 bits, among any others.
      const auto drawn = [&] {
        constexpr uint32_t kExtremes[] = {0x80808080, 0x7f7f7f7f, 0x88888888, 0x77777777, ~0u, 0};
        return static_cast<uint32_t>(next() % 4 == 0 ? kExtremes[next() % 6] : next());
      };
      auto tile = std::make_unique<Tile>();
      tile->depth = words * 2;
      tile->columns = columns;
      std::vector<std::vector<uint32_t>> a(kTileRows), b(columns);
      for (uint32_t i = 0; i < kTileRows; ++i) {
        for (uint32_t word = 0; word < words; ++word)
          a[i].push_back(tile->a.words[0][word * kTileRows + i] = drawn());
      }
      for (uint32_t j = 0; j < columns; ++j) {
        for (uint32_t word = 0; word < words; ++word)
          b[j].push_back(tile->b.words[0][j * words + word] = drawn());
      }
      for (uint32_t j = 0; j < columns; ++j) {
        for (uint32_t& c : tile->c[j])
          c = static_cast<uint32_t>(
              next() % 2 == 0 ? next() : INT32_MAX - next() % 1000 + (next() % 2 << 31));
      }
      const auto c = tile->c;
      set().tiles().sum_integers(*tile, of);
      for (uint32_t j = 0; j < columns; ++j) {
        for (uint32_t i = 0; i < kTileRows; ++i) {
          ASSERT_EQ(tile->c[j][i], plain_sum(a[i], b[j], c[j][i], of))
              << set().title << ", types " << static_cast<int>(a_type) << " and "
              << static_cast<int>(b_type) << ", row " << i << ", column " << j;
        }
      }
    }
  }
}

TEST_P(Tiles, AddDoublesOneAfterAnother) {
  std::mt19937_64 next(5);
  for (uint32_t seed = 0; seed < 100; ++seed) {
    DoubleTile tile;
    tile.depth = 4u << seed % 3;
    const auto drawn = [&] {
      const uint64_t bits = next();
      if (bits % 8 == 0) return std::bit_cast<double>(next() & ~(uint64_t{0x7ff} << 52));
      const uint64_t exponent = 1023 - 40 + bits % 80;
      return std::bit_cast<double>((next() & ~(uint64_t{0x7ff} << 52)) | exponent << 52);
    };
    for (auto& line : tile.a)
      for (double& value : line) value = drawn();
    for (auto& line : tile.b)
      for (double& value : line) value = drawn();
    for (auto& line : tile.c)
      for (double& value : line) value = drawn();
    const auto c = tile.c;
    ASSERT_TRUE(set().tiles().sum_doubles(tile));
    for (uint32_t j = 0; j < DoubleTile::kColumns; ++j) {
      for (uint32_t i = 0; i < kTileRows; ++i) {
        double expected = c[j][i];
        for (uint32_t k = 0; k < tile.depth; ++k)
          expected = std::fma(tile.a[k][i], tile.b[j][k], expected);
        ASSERT_EQ(std::bit_cast<uint64_t>(tile.c[j][i]), std::bit_cast<uint64_t>(expected));
      }
    }
    tile.b[0][0] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(set().tiles().sum_doubles(tile)) << "a NaN is left to the definition";
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Tiles, testing::Range(size_t{0}, instruction_sets().size()),
                         [](const auto& set) {
                           return std::string(instruction_sets()[set.param].name);
                         });

}  // namespace
}  // namespace gpuemu::emulator
