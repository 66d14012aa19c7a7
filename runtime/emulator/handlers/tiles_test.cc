// Compares the sums of tiles of each instruction set with the definition for one element, over
// random bits: values of every size, zeros, subnormals, and values that are not finite.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/numerics/dot.h"
#include "runtime/emulator/numerics/dot_tile.h"
#include "runtime/emulator/numerics/narrow.h"

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
    if (halves) {
      for (uint32_t j = 0; j < product.columns; ++j) {
        for (uint32_t& bits : tile->c[j]) bits = float_from_half(bits);
      }
    }
    ++taken.all;
    if (!functions.split_a(*tile, format.type) || !functions.split_b(*tile, format.type)) return;
    if (!(halves ? functions.sum_halves : functions.sum)(*tile, model)) return;
    ++taken.vectors;
    for (uint32_t i = 0; i < kTileRows; ++i) {
      for (uint32_t j = 0; j < product.columns; ++j) {
        const uint32_t c = product.c[i * product.columns + j];
        const auto a = product.factors(product.a, i, format.type),
                   b = product.factors(product.b, j, format.type);
        const uint32_t expected =
            halves ? float_from_half(dot_half(a, b, c, model)) : dot_float(a, b, c, model);
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

INSTANTIATE_TEST_SUITE_P(Each, Tiles, testing::Range(size_t{0}, instruction_sets().size()),
                         [](const auto& set) {
                           return std::string(instruction_sets()[set.param].name);
                         });

}  // namespace
}  // namespace gpuemu::emulator
