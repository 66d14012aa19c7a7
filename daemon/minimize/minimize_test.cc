// Both searches against made-up failures.
#include "daemon/minimize/minimize.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

DimsMinimum minimum(const Dims& start, const std::function<bool(const Dims&)>& fails,
                    uint64_t trials = 200) {
  DimsOptions options;
  options.trials_max = trials;
  return minimize_dims(
      start, "wrong",
      [&](const Dims& dims) {
        return fails(dims) ? std::optional<std::string>("wrong") : std::nullopt;
      },
      options);
}

TEST(MinimizeDims, FindsTheThresholdOfEveryDim) {
  const DimsMinimum found = minimum({{"rows", 512}, {"cols", 4096}}, [](const Dims& dims) {
    return dims.at("rows") >= 3 && dims.at("cols") >= 129;
  });
  EXPECT_EQ(found.dims, (Dims{{"rows", 3}, {"cols", 129}}));
  EXPECT_TRUE(found.complete);
  EXPECT_LE(found.trials, 60u);
}

TEST(MinimizeDims, GoesToTheLowerBoundsAtOnceWhenThoseFail) {
  const DimsMinimum found = minimum({{"n", 1 << 20}}, [](const Dims&) { return true; });
  EXPECT_EQ(found.dims, (Dims{{"n", 1}}));
  EXPECT_EQ(found.trials, 1u);
}

TEST(MinimizeDims, ReachesTheFirstUnalignedSize) {
  const DimsMinimum found = minimum(
      {{"n", 1000}}, [](const Dims& dims) { return dims.at("n") > 32 && dims.at("n") % 32 != 0; });
  EXPECT_EQ(found.dims, (Dims{{"n", 33}}));
}

TEST(MinimizeDims, ShrinksDimsThatMustStayEqualTogether) {
  const DimsMinimum found = minimum({{"m", 64}, {"n", 64}}, [](const Dims& dims) {
    return dims.at("m") == dims.at("n") && dims.at("m") >= 5;
  });
  EXPECT_EQ(found.dims, (Dims{{"m", 5}, {"n", 5}}));
}

TEST(MinimizeDims, KeepsTheKindOfTheFailure) {
  DimsOptions options;
  const DimsMinimum found = minimize_dims(
      {{"n", 100}}, "race",
      [](const Dims& dims) -> std::optional<std::string> {
        return dims.at("n") >= 40 ? "race" : "bounds";
      },
      options);
  EXPECT_EQ(found.dims, (Dims{{"n", 40}}));
}

TEST(MinimizeDims, StaysAboveTheDeclaredLowerBounds) {
  DimsOptions options;
  options.lower = {{"n", 17}};
  const DimsMinimum found = minimize_dims(
      {{"n", 100}}, "wrong", [](const Dims&) { return std::optional<std::string>("wrong"); },
      options);
  EXPECT_EQ(found.dims, (Dims{{"n", 17}}));
}

TEST(MinimizeDims, StopsWhenTheTrialsRunOutAndKeepsAFailingCase) {
  const auto fails = [](const Dims& dims) { return dims.at("n") >= 777; };
  const DimsMinimum found = minimum({{"n", 1 << 20}}, fails, 5);
  EXPECT_EQ(found.trials, 5u);
  EXPECT_FALSE(found.complete);
  EXPECT_TRUE(fails(found.dims));
}

TEST(MinimizeDims, StopsWhenCancelled) {
  DimsOptions options;
  options.cancelled = [] { return true; };
  const DimsMinimum found = minimize_dims(
      {{"n", 9}}, "wrong", [](const Dims&) { return std::optional<std::string>("wrong"); },
      options);
  EXPECT_EQ(found.dims, (Dims{{"n", 9}}));
  EXPECT_EQ(found.trials, 0u);
}

TEST(MinimizeValues, TakesTheSimplestStrategyThenTheSmallestScale) {
  const ValueMinimum found =
      minimize_values({"normal", 1.0}, "wrong",
                      [](const ValueChoice& choice) -> std::optional<std::string> {
                        if (choice.strategy == "zeros" || choice.scale < 0.25) return std::nullopt;
                        return "wrong";
                      },
                      {});
  EXPECT_EQ(found.choice.strategy, "constant");
  EXPECT_EQ(found.choice.scale, 0.25);
}

TEST(MinimizeValues, NarrowsInFewTrials) {
  uint64_t trials = 0;
  const ValueMinimum found =
      minimize_values({"offset", 1.0}, "wrong",
                      [&](const ValueChoice& choice) -> std::optional<std::string> {
                        ++trials;
                        if (choice.strategy != "offset" || choice.scale < 0x1p-11)
                          return std::nullopt;
                        return "wrong";
                      },
                      {});
  EXPECT_EQ(found.choice.scale, 0x1p-11);
  EXPECT_EQ(found.trials, trials);
  EXPECT_LE(trials, 10u);
}

TEST(MinimizeValues, KeepsTheStrategyWhenOnlyItFails) {
  const ValueMinimum found = minimize_values(
      {"offset", 1.0}, "wrong",
      [](const ValueChoice& choice) -> std::optional<std::string> {
        return choice.strategy == "offset" && choice.scale == 1.0 ? "wrong" : "other";
      },
      {});
  EXPECT_EQ(found.choice.strategy, "offset");
  EXPECT_EQ(found.choice.scale, 1.0);
}

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
      minimum_of({{{"n", 1024}}, {"impulse", 1.0}}, {}, [](const CaseChoice& choice) {
        return choice.dims.at("n") >= (choice.values.strategy == "constant" ? 97 : 175) &&
               choice.values.strategy != "zeros";
      });
  EXPECT_EQ(found.choice.dims, (Dims{{"n", 97}}));
  EXPECT_EQ(found.choice.values.strategy, "constant");
  EXPECT_TRUE(found.complete);
  EXPECT_LE(found.trials, 60u);
}

TEST(MinimizeCase, TriesOnlySizesOfTheList) {
  std::set<int64_t> tried;
  CaseSearch search;
  search.sizes["head"] = {16, 32, 64, 80, 128, 256};
  const CaseMinimum found =
      minimum_of({{{"head", 256}, {"n", 100}}, {"normal", 1.0}}, search, [&](const CaseChoice& c) {
        tried.insert(c.dims.at("head"));
        return c.dims.at("head") >= 70 && c.dims.at("n") >= 3;
      });
  EXPECT_EQ(found.choice.dims, (Dims{{"head", 80}, {"n", 3}}));
  for (const int64_t size : tried) {
    EXPECT_TRUE(std::ranges::count(search.sizes["head"], size)) << size;
  }
}

TEST(MinimizeCase, TriesNothingTwiceAndKeepsToItsTrials) {
  std::set<std::tuple<Dims, std::string, double>> seen;
  CaseSearch search;
  search.trials_max = 17;
  const CaseMinimum found =
      minimum_of({{{"m", 999}, {"n", 777}}, {"normal", 1.0}}, search, [&](const CaseChoice& c) {
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
  const CaseMinimum found = minimum_of({{{"n", 8}}, {"normal", 1.0}}, search,
                                       [](const CaseChoice& c) { return c.dims.at("n") == 8; });
  EXPECT_EQ(found.choice.dims, (Dims{{"n", 8}}));
  EXPECT_EQ(found.choice.values.strategy, "zeros");
}

}  // namespace
}  // namespace gpuemu
