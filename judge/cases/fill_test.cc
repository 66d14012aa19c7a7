// Values of every strategy, dtype and domain.
#include "judge/cases/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/blake2.h"
#include "common/numeric/element.h"
#include "judge/cases/case.h"

namespace gpuemu {
namespace {

std::vector<double> values_of(const ValueRecipe& recipe) {
  const auto count = static_cast<size_t>(element_count(recipe.shape));
  std::vector<std::byte> bytes(count * byte_size(recipe.dtype));
  fill_values(recipe, bytes);
  std::vector<double> values(count);
  widen_to_double(recipe.dtype, bytes, values);
  return values;
}

ValueRecipe recipe(Strategy strategy, DType dtype = DType::Float32) {
  return {42, 3, "x", strategy, 1.0, dtype, {5, 7}, std::nullopt};
}

TEST(FillValues, EveryStrategyStaysInEveryDomain) {
  const std::pair<double, double> domains[] = {{-10, 10}, {0, 1}, {1e-10, 1}, {5, 6}, {-3, -1}};
  for (const StrategyInfo& info : strategy_table()) {
    if (info.kind != StrategyKind::Values) continue;
    for (size_t d = 0; d < kDTypeCount; ++d) {
      for (const auto& domain : domains) {
        ValueRecipe r = recipe(info.strategy, static_cast<DType>(d));
        if (r.dtype == DType::Bool) continue;
        if (r.dtype >= DType::UInt8 && domain.second < 0) continue;
        r.range = domain;
        for (const double value : values_of(r)) {
          if (info.tier == 2 && !std::isfinite(value)) continue;
          ASSERT_TRUE(value >= domain.first && value <= domain.second)
              << info.name << " " << name_of(r.dtype) << " " << value;
        }
      }
    }
  }
}

TEST(FillValues, AnOffsetOutsideTheDomainBecomesItsFarEnd) {
  ValueRecipe r = recipe(Strategy::Offset);
  const auto ends = [&](double lo, double hi) {
    r.range = {{lo, hi}};
    const auto values = values_of(r);
    EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), 30u);
    return std::pair(std::ranges::min(values), std::ranges::max(values));
  };
  const auto far = ends(-100, 100), one = ends(0, 1), above = ends(5000, 6000);
  EXPECT_TRUE(far.first >= -100 && far.second <= -98);
  EXPECT_TRUE(one.first >= 0.98 && one.second <= 1);
  EXPECT_TRUE(above.first >= 5998 && above.second <= 6000);
}

TEST(FillValues, DisjointStrategiesBecomeUniformInsteadOfOneValue) {
  ValueRecipe r = recipe(Strategy::AllPos);
  r.range = {{-1, 1}};
  const auto values = values_of(r);
  EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), 30u);
  r.strategy = Strategy::Uniform10;
  EXPECT_EQ(values, values_of(r));
}

TEST(FillValues, SignedStrategiesFoldOntoAPositiveDomain) {
  ValueRecipe r = recipe(Strategy::Normal);
  r.range = {{0, 100}};
  const auto values = values_of(r);
  EXPECT_EQ(std::ranges::count(values, 0.0), 0);
}

TEST(FillValues, SpecialStrategiesPlantOne) {
  size_t nans = 0;
  for (const double value : values_of(recipe(Strategy::OneNan, DType::BFloat16))) {
    nans += std::isnan(value);
  }
  EXPECT_EQ(nans, 1u);
}

TEST(FillValues, AnInfinityStandsAloneOrFillsARow) {
  ValueRecipe r = recipe(Strategy::OneNinf);
  r.shape = {4, 25};
  std::map<int64_t, int> runs;
  for (uint64_t i = 0; i < 200; ++i) {
    r.iteration = i;
    const auto values = values_of(r);
    const auto first = std::ranges::find(values, -INFINITY);
    const int64_t count = std::ranges::count(values, -INFINITY);
    EXPECT_EQ(std::count(first, first + count, -INFINITY), count) << "they lie side by side";
    if (count == 25) {
      EXPECT_EQ((first - values.begin()) % 25, 0) << "a row begins there";
    }
    ++runs[count];
  }
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_GT(runs[1], 30);
  EXPECT_GT(runs[25], 100);
}

TEST(FillValues, OfATensorOfOneRowAQuarterIsInfinite) {
  ValueRecipe r = recipe(Strategy::OneInf);
  r.shape = {101};
  std::set<int64_t> counts;
  for (uint64_t i = 0; i < 200; ++i) {
    r.iteration = i;
    counts.insert(std::ranges::count(values_of(r), INFINITY));
  }
  EXPECT_EQ(counts, (std::set<int64_t>{1, 23, 26}));
}

TEST(FillValues, InfinitiesHaveASignThatTheDomainHas) {
  for (const auto& [strategy, range, planted] :
       {std::tuple(Strategy::OneNinf, std::pair(0.0, 1e10), 0),
        std::tuple(Strategy::OneNinf, std::pair(-1.0, 10.0), 1),
        std::tuple(Strategy::OneInf, std::pair(0.0, 10.0), 1),
        std::tuple(Strategy::OneInf, std::pair(-10.0, 0.0), 0)}) {
    ValueRecipe r = recipe(strategy);
    r.range = range;
    EXPECT_EQ(std::ranges::any_of(values_of(r), [](double v) { return std::isinf(v); }), planted)
        << name_of(strategy) << " in " << range.first << " to " << range.second;
  }
}

/// The values that `special` plants: smallest numbers, +infinity, -infinity, NaN.
std::array<int64_t, 4> planted_in(const std::vector<double>& values) {
  const auto count = [&](auto is) { return std::ranges::count_if(values, is); };
  return {count([](double v) { return v != 0 && std::abs(v) <= 0x1p-126; }),
          std::ranges::count(values, INFINITY), std::ranges::count(values, -INFINITY),
          count([](double v) { return std::isnan(v); })};
}

TEST(FillValues, SpecialPlantsOneFamilyPerCaseAmongOrdinaryValues) {
  ValueRecipe r = recipe(Strategy::Special);
  r.shape = {8000};
  std::set<size_t> families;
  for (r.iteration = 0; r.iteration < 24; ++r.iteration) {
    const auto values = values_of(r);
    const auto planted = planted_in(values);
    const auto family = static_cast<size_t>(std::ranges::max_element(planted) - planted.begin());
    families.insert(family);
    EXPECT_EQ(std::ranges::count(planted, 0), 3) << "what hides the others comes alone";
    // A thousand of eight thousand, by a table of eight with four of the family, or of five.
    const int64_t expected = family == 0 ? 500 : 200;
    EXPECT_NEAR(static_cast<double>(planted[family]), static_cast<double>(expected), 75);
    EXPECT_GT(std::ranges::count(values, 0.0), 150);
    r.input = std::string("other");
    EXPECT_GT(planted_in(values_of(r))[family], 0) << "all inputs of a case alike";
    r.input = std::string("x");
  }
  EXPECT_EQ(families.size(), 4u);
  r.range = {{0.0, 1.0}};
  for (r.iteration = 0; r.iteration < 24; ++r.iteration) EXPECT_EQ(planted_in(values_of(r))[2], 0);
}

TEST(FillValues, SignedZeroHasZerosOfBothSigns) {
  const auto values = values_of(recipe(Strategy::SignedZero, DType::BFloat16));
  const auto zero = [&](bool negative) {
    return std::ranges::count_if(
        values, [&](double value) { return value == 0 && std::signbit(value) == negative; });
  };
  EXPECT_GT(zero(true), 2);
  EXPECT_GT(zero(false), 2);
  EXPECT_GT(std::ranges::count(values, 10.0), 0);
}

TEST(FillValues, SortedTiesAreRunsInOneDirection) {
  ValueRecipe r = recipe(Strategy::SortedTies);
  r.shape = {3, 40};
  std::set<bool> directions;
  for (r.iteration = 0; r.iteration < 20; ++r.iteration) {
    auto values = values_of(r);
    const bool falling = values[0] > values[39];
    directions.insert(falling);
    values.resize(40);
    EXPECT_EQ(std::set<double>(values.begin(), values.end()).size(), 8u);
    EXPECT_TRUE(falling ? std::ranges::is_sorted(values, std::greater<>())
                        : std::ranges::is_sorted(values));
  }
  EXPECT_EQ(directions.size(), 2u);
}

TEST(FillValues, NearMaxAndMixedReachTheEndsOfTheType) {
  for (const double value : values_of(recipe(Strategy::NearMax, DType::Float16))) {
    EXPECT_TRUE(std::abs(value) >= 8192 && std::abs(value) <= 65504) << value;
  }
  ValueRecipe r = recipe(Strategy::MixedAdversarial);
  r.shape = {400};
  const auto values = values_of(r);
  EXPECT_GT(std::ranges::count(values, 0.0), 20);
  EXPECT_GT(std::ranges::count_if(values, [](double v) { return std::abs(v) > 3e38; }), 20);
  EXPECT_GT(std::ranges::count_if(values, [](double v) { return v != std::rint(v); }), 100);
}

TEST(FillValues, SmallIntegersImpulsesAndRampsAreWhatTheySay) {
  for (const double value : values_of(recipe(Strategy::SmallInt))) {
    EXPECT_EQ(value, std::rint(value));
  }
  const auto impulse = values_of(recipe(Strategy::Impulse));
  EXPECT_GE(std::ranges::count(impulse, 0.0), 33);
  const auto ramp = values_of(recipe(Strategy::Ascend));
  EXPECT_EQ(ramp[0], -10);
  EXPECT_EQ(ramp[6], 10);
  EXPECT_EQ(ramp[7], -10);
  const auto flat = values_of(recipe(Strategy::Constant));
  EXPECT_EQ(std::set<double>(flat.begin(), flat.end()).size(), 1u);
}

TEST(FillValues, SubnormalsAreSubnormal) {
  for (const double value : values_of(recipe(Strategy::Subnormal, DType::Float16))) {
    EXPECT_LT(std::abs(value), 0x1p-14);
  }
}

TEST(FillValues, ScalesByTheValueScale) {
  ValueRecipe r = recipe(Strategy::Normal, DType::Float64);
  const auto full = values_of(r);
  r.scale = 0.5;
  const auto half = values_of(r);
  for (size_t i = 0; i < full.size(); ++i) EXPECT_EQ(half[i], full[i] * 0.5);
}

TEST(FillValues, ExtremesReachBothEndsOfTheType) {
  ValueRecipe r = recipe(Strategy::IntExtremes, DType::Int8);
  r.shape = {100};
  const auto values = values_of(r);
  const std::set<double> seen(values.begin(), values.end());
  EXPECT_EQ(seen, (std::set<double>{-128, -1, 0, 1, 127}));
}

TEST(FillValues, WideIntegersReachEveryMagnitudeOfTheType) {
  ValueRecipe r = recipe(Strategy::IntWide, DType::Int32);
  r.shape = {2000};
  std::set<int> exponents;
  int beyond_float = 0;
  for (const double value : values_of(r)) {
    if (value == 0) continue;
    exponents.insert(std::ilogb(value));
    if (static_cast<double>(static_cast<float>(value)) != value) ++beyond_float;
  }
  EXPECT_EQ(exponents.size(), 31u);
  EXPECT_GT(beyond_float, 200);
}

TEST(FillValues, WideIntegersHaveRowsOfOneSign) {
  ValueRecipe r = recipe(Strategy::IntWide);
  r.dtype = DType::Int8;
  r.shape = {8, 200};
  const std::vector<double> values = values_of(r);
  std::map<std::pair<bool, bool>, int> rows;
  for (size_t row = 0; row < 8; ++row) {
    const std::span<const double> of(values.data() + row * 200, 200);
    const bool below = std::ranges::any_of(of, [](double v) { return v < 0; });
    const bool above = std::ranges::any_of(of, [](double v) { return v > 0; });
    ++rows[{below, above}];
  }
  EXPECT_EQ(rows, (std::map<std::pair<bool, bool>, int>{
                      {{true, true}, 4}, {{true, false}, 2}, {{false, true}, 2}}));
}

TEST(FillValues, BytesAreThoseOfTheSharedVectors) {
  std::ifstream in(GPUEMU_SOURCE_DIR "/tests/crosslang/value_vectors.json");
  const auto vectors = nlohmann::json::parse(in);
  ASSERT_GT(vectors["cases"].size(), 1000u);
  for (const auto& item : vectors["cases"]) {
    ValueRecipe r = recipe(*strategy_from_name(item["value_strategy"].get<std::string>()));
    r.iteration = item["iteration"];
    r.scale = item["value_scale"];
    r.dtype = *dtype_from_name(item["dtype"].get<std::string>());
    r.shape = item["shape"].get<Shape>();
    if (item.contains("value_parameters")) {
      r.parameters = item["value_parameters"].get<std::vector<double>>();
    }
    if (!item["range"].is_null()) r.range = {item["range"][0], item["range"][1]};
    std::vector<std::byte> bytes(static_cast<size_t>(element_count(r.shape)) * byte_size(r.dtype));
    fill_values(r, bytes);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ASSERT_EQ(content_hash({text}), item["content"].get<std::string>()) << item;
  }
}

TEST(FillValues, AnInputDoesNotChangeAnother) {
  ValueRecipe other = recipe(Strategy::Normal);
  other.input = std::string("y");
  EXPECT_NE(values_of(recipe(Strategy::Normal)), values_of(other));
}

}  // namespace
}  // namespace gpuemu
