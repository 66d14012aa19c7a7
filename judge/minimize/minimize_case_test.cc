// Tests all searches together on artificial failures.
#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "common/numeric/element.h"
#include "judge/minimize/minimize.h"

namespace gpuemu {
namespace {

/// Fails with "wrong" where the predicate says so.
CaseMinimum minimum_of(const CaseChoice& start, const CaseSearch& search,
                       const std::function<bool(const CaseChoice&)>& fails) {
  return minimize_case(
      start, "wrong",
      [&](const CaseChoice& choice) -> std::optional<std::string> {
        return fails(choice) ? std::optional<std::string>("wrong") : std::nullopt;
      },
      search);
}

TEST(MinimizeCase, SimplerValuesLetTheDimsShrinkFurther) {
  const CaseMinimum found =
      minimum_of({{{"n", 1024}}, {Strategy::Impulse, 1.0}}, {}, [](const CaseChoice& choice) {
        return choice.dims.at("n") >= (choice.values.strategy == Strategy::Constant ? 97 : 175) &&
               choice.values.strategy != Strategy::Zeros;
      });
  EXPECT_EQ(found.choice.dims, (Dims{{"n", 97}}));
  EXPECT_EQ(found.choice.values.strategy, Strategy::Constant);
  EXPECT_TRUE(found.complete);
  EXPECT_LE(found.trials, 60u);
}

TEST(MinimizeCase, TriesOnlySizesOfTheList) {
  std::set<int64_t> tried;
  CaseSearch search;
  search.sizes["head"] = {16, 32, 64, 80, 128, 256};
  const CaseMinimum found = minimum_of({{{"head", 256}, {"n", 100}}, {Strategy::Normal, 1.0}},
                                       search, [&](const CaseChoice& c) {
                                         tried.insert(c.dims.at("head"));
                                         return c.dims.at("head") >= 70 && c.dims.at("n") >= 3;
                                       });
  EXPECT_EQ(found.choice.dims, (Dims{{"head", 80}, {"n", 3}}));
  for (const int64_t size : tried) {
    EXPECT_TRUE(std::ranges::count(search.sizes["head"], size)) << size;
  }
}

TEST(MinimizeCase, TriesNothingTwiceAndKeepsToItsTrials) {
  std::set<std::tuple<Dims, Strategy, double>> seen;
  CaseSearch search;
  search.trials_max = 17;
  const CaseMinimum found = minimum_of(
      {{{"m", 999}, {"n", 777}}, {Strategy::Normal, 1.0}}, search, [&](const CaseChoice& c) {
        EXPECT_TRUE(seen.insert({c.dims, c.values.strategy, c.values.scale}).second);
        return c.dims.at("m") >= 31 && c.dims.at("n") >= 29 && c.values.scale > 0.1;
      });
  EXPECT_EQ(found.trials, 17u);
  EXPECT_EQ(seen.size(), 17u);
  EXPECT_FALSE(found.complete);
}

TEST(MinimizeCase, KeepsWhatItMayNotChange) {
  CaseSearch search;
  search.change_dims = false;
  const CaseMinimum found = minimum_of({{{"n", 8}}, {Strategy::Normal, 1.0}}, search,
                                       [](const CaseChoice& c) { return c.dims.at("n") == 8; });
  EXPECT_EQ(found.choice.dims, (Dims{{"n", 8}}));
  EXPECT_EQ(found.choice.values.strategy, Strategy::Zeros);
}

TEST(MinimizeCase, SimplifiesLayoutAndAttributes) {
  CaseSearch search;
  search.layouts = {MemoryLayout::Contiguous, MemoryLayout::Strided, MemoryLayout::Transposed};
  search.attrs = {{"alpha", {0.37, 1.0, 0.0}}, {"eps", {1e-5, 1e-3}}};
  CaseChoice start;
  start.dims = {{"n", 4}};
  start.values = {Strategy::Zeros, 1.0};
  start.layout = MemoryLayout::Transposed;
  start.attrs = {{"alpha", 0.37}, {"eps", 1e-3}};
  const CaseMinimum found = minimum_of(start, search, [](const CaseChoice& choice) {
    return choice.layout != MemoryLayout::Contiguous && choice.attrs.at("alpha") != 0;
  });
  EXPECT_EQ(found.choice.layout, MemoryLayout::Strided);
  EXPECT_EQ(found.choice.attrs, (std::map<std::string, double>{{"alpha", 1.0}, {"eps", 1e-5}}));
}

/// An input "x" of n elements: 1.5, 2.5, 3.5, ... or the simplest value for "zeros".
NamedTensors ramp(const CaseChoice& choice) {
  Tensor x = make_tensor(DType::Float32, {choice.dims.at("n")});
  if (choice.values.strategy == Strategy::Zeros) return {{"x", x}};
  std::vector<double> values(static_cast<size_t>(choice.dims.at("n")));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) + 1.5;
  narrow_from_double(DType::Float32, values, x.data);
  return {{"x", x}};
}

std::vector<double> values_of(const CaseChoice& choice) {
  const NamedTensors inputs = choice.stored ? *choice.stored : ramp(choice);
  const Tensor& x = inputs.at("x");
  std::vector<double> values(x.data.size() / 4);
  widen_to_double(x.dtype, x.data, values);
  return values;
}

TEST(MinimizeCase, KeepsTheElementThatMattersAndDropsWhatLiesBehindIt) {
  CaseSearch search;
  search.inputs_of = ramp;
  const CaseMinimum found =
      minimum_of({{{"n", 64}}, {Strategy::Normal, 1.0}}, search, [](const CaseChoice& choice) {
        const std::vector<double> values = values_of(choice);
        return values.size() >= 7 && values[6] > 3 &&
               (choice.stored || choice.values.strategy == Strategy::Normal);
      });
  ASSERT_TRUE(found.choice.stored);
  EXPECT_EQ(found.choice.dims, (Dims{{"n", 7}}));
  EXPECT_EQ(values_of(found.choice), (std::vector<double>{0, 0, 0, 0, 0, 0, 7}));
  EXPECT_LE(found.trials, 60u);
}

TEST(MinimizeCase, SimplestValuesLieInTheDomain) {
  CaseSearch search;
  search.inputs_of = ramp;
  search.simplest = {{"x", -100.0}};
  const CaseMinimum found =
      minimum_of({{{"n", 3}}, {Strategy::Normal, 1.0}}, search, [](const CaseChoice& choice) {
        const std::vector<double> values = values_of(choice);
        return values.size() == 3 && values[0] == 1.5 &&
               (choice.stored || choice.values.strategy == Strategy::Normal);
      });
  ASSERT_TRUE(found.choice.stored);
  EXPECT_EQ(values_of(found.choice), (std::vector<double>{1.5, -100, -100}));
}

TEST(MinimizeCase, StoredValuesOfAnEarlierMinimizationShrinkFurther) {
  CaseSearch search;
  search.inputs_of = ramp;
  CaseChoice start{{{"n", 5}}, {Strategy::Stored, 1.0}};
  start.stored = std::make_shared<const NamedTensors>(ramp({{{"n", 5}}, {Strategy::Normal, 1.0}}));
  const CaseMinimum found = minimum_of(start, search, [](const CaseChoice& choice) {
    return choice.stored && values_of(choice)[0] > 0;
  });
  ASSERT_TRUE(found.choice.stored);
  EXPECT_EQ(values_of(found.choice), (std::vector<double>{1}));
}

}  // namespace
}  // namespace gpuemu
