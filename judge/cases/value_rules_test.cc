// Tests values that follow a rule in addition to their range.
#include "judge/cases/value_rules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "judge/cases/fill.h"

namespace gpuemu {
namespace {

std::vector<int32_t> integers(const ValueRecipe& recipe) {
  std::vector<int32_t> values(static_cast<size_t>(element_count(recipe.shape)));
  fill_values(recipe, std::as_writable_bytes(std::span(values)));
  return values;
}

ValueRecipe indices(Strategy strategy, Shape shape, double last) {
  return {.base_seed = 7,
          .iteration = 3,
          .input = "index",
          .strategy = strategy,
          .dtype = DType::Int32,
          .shape = std::move(shape),
          .range = std::pair(0.0, last)};
}

TEST(ValueRules, NoDistinctValueComesTwiceUnderAnyStrategy) {
  for (const Strategy strategy :
       {Strategy::Uniform10, Strategy::Zeros, Strategy::Constant, Strategy::Ascend,
        Strategy::Duplicates, Strategy::IntExtremes, Strategy::SortedTies, Strategy::SmallInt}) {
    ValueRecipe recipe = indices(strategy, {40, 2}, 79);
    recipe.distinct = true;
    const auto values = integers(recipe);
    const std::set<int32_t> all(values.begin(), values.end());
    EXPECT_EQ(all.size(), 80u) << static_cast<int>(strategy);
    EXPECT_EQ(*all.begin(), 0);
    EXPECT_EQ(*all.rbegin(), 79);
  }
}

TEST(ValueRules, ADistinctValueThatIsFreeStays) {
  ValueRecipe recipe = indices(Strategy::Uniform10, {3}, 1e6);
  const auto drawn = integers(recipe);
  recipe.distinct = true;
  EXPECT_EQ(integers(recipe), drawn);
}

TEST(ValueRules, SortedValuesAscendAlongTheLastAxis) {
  ValueRecipe recipe = indices(Strategy::Uniform10, {4, 25}, 50);
  recipe.sorted = true;
  const auto values = integers(recipe);
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_TRUE(std::is_sorted(values.begin() + static_cast<ptrdiff_t>(row * 25),
                               values.begin() + static_cast<ptrdiff_t>(row * 25 + 25)));
  }
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end())) << "each row for itself";
}

TEST(ValueRules, BothTogetherAscendStrictly) {
  ValueRecipe recipe = indices(Strategy::Duplicates, {30}, 35);
  recipe.distinct = recipe.sorted = true;
  const auto values = integers(recipe);
  EXPECT_EQ(std::ranges::adjacent_find(values, std::greater_equal<>()), values.end());
}

// python/tests/test_value_rules.py has the same numbers.
TEST(ValueRules, ValuesAreThoseOfPython) {
  ValueRecipe recipe = indices(Strategy::Uniform10, {2, 8}, 17);
  recipe.base_seed = 42;
  recipe.input = "x";
  recipe.distinct = true;
  EXPECT_EQ(integers(recipe),
            (std::vector<int32_t>{15, 3, 11, 10, 13, 1, 14, 8, 2, 4, 16, 12, 17, 5, 0, 6}));
  recipe.sorted = true;
  EXPECT_EQ(integers(recipe),
            (std::vector<int32_t>{1, 3, 8, 10, 11, 13, 14, 15, 0, 2, 4, 5, 6, 12, 16, 17}));
  recipe.strategy = Strategy::IntExtremes;
  recipe.sorted = false;
  EXPECT_EQ(integers(recipe),
            (std::vector<int32_t>{1, 0, 2, 3, 4, 5, 6, 7, 8, 17, 9, 10, 11, 12, 13, 14}));
}

TEST(ValueRules, SortedIntegersKeepAllOfTheirBits) {
  ValueRecipe recipe = indices(Strategy::IntExtremes, {64}, 0);
  recipe.dtype = DType::Int64;
  recipe.range.reset();
  std::vector<int64_t> drawn(64), sorted(64);
  fill_values(recipe, std::as_writable_bytes(std::span(drawn)));
  recipe.sorted = true;
  fill_values(recipe, std::as_writable_bytes(std::span(sorted)));
  std::ranges::sort(drawn);
  EXPECT_EQ(sorted, drawn);
  EXPECT_EQ(sorted.back(), std::numeric_limits<int64_t>::max());
}

TEST(ValueRules, NanStandsBehindSortedNumbers) {
  ValueRecipe recipe = indices(Strategy::OneNan, {9}, 5);
  recipe.dtype = DType::Float32;
  recipe.sorted = true;
  std::vector<float> values(9);
  fill_values(recipe, std::as_writable_bytes(std::span(values)));
  EXPECT_TRUE(std::isnan(values.back()));
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end() - 1));
}

}  // namespace
}  // namespace gpuemu
