// Patterns of rows, one NaN or infinity in a row, and values around a kernel's numbers.
#include "judge/cases/rows.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "common/numeric/element.h"
#include "judge/cases/fill.h"

namespace gpuemu {
namespace {

ValueRecipe recipe(Strategy strategy, Shape shape, std::vector<double> parameters) {
  return {42,
          0,
          "x",
          strategy,
          1,
          DType::Float32,
          std::move(shape),
          std::nullopt,
          std::move(parameters)};
}

std::vector<double> values_of(const ValueRecipe& recipe) {
  const auto count = static_cast<size_t>(element_count(recipe.shape));
  std::vector<std::byte> bytes(count * byte_size(recipe.dtype));
  fill_values(recipe, bytes);
  std::vector<double> values(count);
  widen_to_double(recipe.dtype, bytes, values);
  return values;
}

std::vector<std::vector<double>> rows_of(const ValueRecipe& recipe) {
  const auto values = values_of(recipe);
  const auto length = static_cast<ptrdiff_t>(recipe.shape.back());
  std::vector<std::vector<double>> rows;
  for (auto at = values.begin(); at != values.end(); at += length) {
    rows.emplace_back(at, at + length);
  }
  return rows;
}

TEST(TileMaxima, GrowFromTileToTileByMoreThanExpCanHold) {
  for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16}) {
    ValueRecipe r = recipe(Strategy::TileMaxima, {1, 300}, {0});
    r.dtype = dtype;
    const auto row = rows_of(r).front();
    double before = -INFINITY;
    for (size_t tile = 0; tile < 9; ++tile) {
      const auto first = row.begin() + static_cast<ptrdiff_t>(32 * tile);
      const double most = *std::max_element(first, first + 32);
      EXPECT_GT(most, before) << name_of(dtype) << ", tile " << tile;
      before = most;
    }
    EXPECT_GT(before - *std::max_element(row.begin(), row.begin() + 128), 89) << name_of(dtype);
  }
}

TEST(TileMaxima, TakeTheirTurnsByRow) {
  const auto rows = rows_of(recipe(Strategy::TileMaxima, {4, 200}, {0}));
  const auto largest = [](const std::vector<double>& row) {
    return std::ranges::max_element(row) - row.begin();
  };
  EXPECT_GT(largest(rows[0]), 190);
  EXPECT_GT(std::ranges::max(rows[1]), 89 + std::ranges::min(rows[1]));
  EXPECT_LE(std::ranges::max(rows[2]), 0);
  EXPECT_LT(largest(rows[3]), 10);
  EXPECT_EQ(rows_of(recipe(Strategy::TileMaxima, {1, 200}, {3})).front().size(), 200u);
  EXPECT_LT(largest(rows_of(recipe(Strategy::TileMaxima, {1, 200}, {3})).front()), 10);
}

TEST(TileMaxima, GrowFromRowToRowInOddTurns) {
  const auto rows = rows_of(recipe(Strategy::TileMaxima, {2, 60, 3}, {1}));
  for (size_t row = 1; row < 120; ++row) {
    if (row % 60 <= 30) continue;  // Around -100 some are moved.
    EXPECT_GT(std::ranges::min(rows[row]), std::ranges::max(rows[row - 1])) << row;
  }
  EXPECT_LT(std::ranges::max(rows[60]), -480) << "the next matrix";
}

/// Returns how many values are exactly between two whole numbers.
int64_t ties_in(const std::vector<double>& values) {
  return std::ranges::count_if(values,
                               [](double value) { return value - std::floor(value) == 0.5; });
}

TEST(ExactTies, StayTiesByTheScaleThatFollowsFromTheLargest) {
  for (uint64_t i = 0; i < 20; ++i) {
    ValueRecipe r = recipe(Strategy::ExactTies, {5, 64}, {});
    r.iteration = i;
    std::vector<double> scaled = values_of(r);
    const double most = std::abs(
        *std::ranges::max_element(scaled, {}, [](double value) { return std::abs(value); }));
    EXPECT_GT(ties_in(scaled), 20) << "or of a scale of 1";
    for (double& value : scaled) value /= most / 127;
    EXPECT_GT(ties_in(scaled), 50);
    EXPECT_TRUE(std::ranges::any_of(scaled, [](double v) { return v == 0.5 || v == -2.5; }));
  }
}

TEST(ExactTies, OfWhatOthersAreDividedByArePowersOfTwo) {
  ValueRecipe r = recipe(Strategy::ExactTies, {100}, {});
  r.range = {{0.01, 1.0}};
  for (const double value : values_of(r)) {
    EXPECT_EQ(value, std::ldexp(1.0, std::ilogb(value)));
    EXPECT_TRUE(value >= 0.125 && value <= 1);
  }
}

TEST(RowMix, HasEveryPatternInTheTurnsOfARun) {
  std::set<bool> eps, ties, negative;
  for (const double turn : {0.0, 1.0, 2.0}) {
    const auto row = rows_of(recipe(Strategy::RowMix, {1, 100}, {turn})).front();
    eps.insert(std::ranges::all_of(row, [](double v) { return std::abs(v) <= 0x1p-6; }));
    int64_t most = 0;
    for (const double scale : {1.0, 2.0, 4.0, 8.0}) {
      std::vector<double> scaled = row;
      for (double& value : scaled) value *= scale;
      most = std::max(most, ties_in(scaled));
    }
    ties.insert(most > 15);
    negative.insert(std::ranges::max(row) < 0);
  }
  EXPECT_EQ(eps.size() + ties.size() + negative.size(), 6u);
  const auto rows = rows_of(recipe(Strategy::RowMix, {12, 40}, {0}));
  EXPECT_LE(std::ranges::max(rows[0]), 0x1p-6);
  EXPECT_LT(std::ranges::max(rows[2]), 0);
  EXPECT_EQ(std::set<double>(rows[5].begin(), rows[5].end()).size(), 1u);
  EXPECT_EQ(std::ranges::count(rows[6], 0.0), 40);
}

TEST(RowSpecials, OneOfARowStandsInEitherHalfOfAPair) {
  std::set<std::pair<bool, size_t>> nans, infinities;
  for (uint64_t i = 0; i < 40; ++i) {
    ValueRecipe r = recipe(Strategy::RowSpecials, {8, 31}, {static_cast<double>(i % 3)});
    r.iteration = i;
    size_t with = 0;
    for (const auto& row : rows_of(r)) {
      const auto count = std::ranges::count_if(row, [](double v) { return !std::isfinite(v); });
      EXPECT_TRUE(count == 0 || count == 1 || count == 31) << count;
      with += count > 0 ? 1 : 0;
      if (count != 1) continue;
      const auto at = std::ranges::find_if(row, [](double v) { return !std::isfinite(v); });
      const auto place = static_cast<size_t>(at - row.begin()) % 2;
      if (std::isnan(*at)) nans.emplace(true, place);
      if (std::isinf(*at)) infinities.emplace(*at > 0, place);
    }
    EXPECT_EQ(with, 7u) << "one row is ordinary";
  }
  EXPECT_EQ(nans.size(), 2u);
  EXPECT_EQ(infinities.size(), 4u);
}

TEST(RowSpecials, LeaveMostRowsOfALargeTensorAlone) {
  size_t with = 0;
  for (const auto& row : rows_of(recipe(Strategy::RowSpecials, {1000, 16}, {0}))) {
    with += std::ranges::all_of(row, [](double v) { return std::isfinite(v); }) ? 0 : 1;
  }
  EXPECT_EQ(with, 14u);
}

TEST(Thresholds, AreTheNumbersAndTheirNeighbours) {
  ValueRecipe r = recipe(Strategy::Thresholds, {2000}, {6, 1e-5, -0.25, 70000});
  const auto values = values_of(r);
  const std::set<double> seen(values.begin(), values.end());
  for (const float number : {6.0F, 1e-5F, -0.25F, 70000.0F}) {
    EXPECT_TRUE(seen.contains(std::nextafterf(number, -INFINITY))) << number;
    EXPECT_TRUE(seen.contains(std::nextafterf(number, INFINITY))) << number;
    EXPECT_EQ(seen.contains(number), number != 1e-5F && number != 70000.0F) << number;
  }
  r.dtype = DType::Float16;
  for (const double value : values_of(r)) EXPECT_TRUE(std::isfinite(value));
  r.range = {{0.0, 1.0}};
  for (const double value : values_of(r)) EXPECT_TRUE(value >= 0 && value <= 1);
}

TEST(Thresholds, OfIntegersReachBeyondTheUsualOnes) {
  ValueRecipe r = recipe(Strategy::IntThresholds, {2000}, {48611});
  r.dtype = DType::Int32;
  const auto values = values_of(r);
  const std::set<double> seen(values.begin(), values.end());
  EXPECT_TRUE(seen.contains(48610) && seen.contains(48611) && seen.contains(48612));
  r.strategy = Strategy::Thresholds;
  for (const double value : values_of(r)) EXPECT_LE(std::abs(value), 100);
}

TEST(Neighbours, AreThoseOfTheFormat) {
  for (const float value : {1.0F, 1.5F, 2.0F, 1e-38F, 0x1p-126F, 0x1p-149F, 3e38F, -1.0F, -0.3F}) {
    EXPECT_EQ(next_above(DType::Float32, value), std::nextafterf(value, INFINITY)) << value;
    EXPECT_EQ(next_below(DType::Float32, value), std::nextafterf(value, -INFINITY)) << value;
  }
  EXPECT_EQ(next_below(DType::Float16, 1.0), 1.0 - 0x1p-11);
  EXPECT_EQ(next_above(DType::BFloat16, 256.0), 258.0);
}

}  // namespace
}  // namespace gpuemu
