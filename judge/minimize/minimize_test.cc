// Tests the searches over dims, values and elements on artificial failures.
#include "judge/minimize/minimize.h"

#include <algorithm>
#include <numeric>

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
      minimize_values({Strategy::Normal, 1.0}, "wrong",
                      [](const ValueChoice& choice) -> std::optional<std::string> {
                        if (choice.strategy == Strategy::Zeros || choice.scale < 0.25) {
                          return std::nullopt;
                        }
                        return "wrong";
                      },
                      {});
  EXPECT_EQ(found.choice.strategy, Strategy::Constant);
  EXPECT_EQ(found.choice.scale, 0.25);
}

TEST(MinimizeValues, NarrowsInFewTrials) {
  uint64_t trials = 0;
  const ValueMinimum found =
      minimize_values({Strategy::Offset, 1.0}, "wrong",
                      [&](const ValueChoice& choice) -> std::optional<std::string> {
                        ++trials;
                        if (choice.strategy != Strategy::Offset || choice.scale < 0x1p-11) {
                          return std::nullopt;
                        }
                        return "wrong";
                      },
                      {});
  EXPECT_EQ(found.choice.scale, 0x1p-11);
  EXPECT_EQ(found.trials, trials);
  EXPECT_LE(trials, 10u);
}

TEST(MinimizeValues, KeepsTheStrategyWhenOnlyItFails) {
  const ValueMinimum found = minimize_values(
      {Strategy::Offset, 1.0}, "wrong",
      [](const ValueChoice& choice) -> std::optional<std::string> {
        return choice.strategy == Strategy::Offset && choice.scale == 1.0 ? "wrong" : "other";
      },
      {});
  EXPECT_EQ(found.choice.strategy, Strategy::Offset);
  EXPECT_EQ(found.choice.scale, 1.0);
}

TEST(MinimizeElements, FindsTheOneThatMatters) {
  std::vector<size_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  const ElementMinimum found = minimize_elements(
      all, [](const std::vector<size_t>& kept) { return std::ranges::count(kept, 617) == 1; }, 200);
  EXPECT_EQ(found.kept, std::vector<size_t>{617});
  EXPECT_LE(found.trials, 25u);
}

TEST(MinimizeElements, FindsTwoThatMatterTogether) {
  std::vector<size_t> all(256);
  std::iota(all.begin(), all.end(), 0);
  const ElementMinimum found = minimize_elements(
      all,
      [](const std::vector<size_t>& kept) {
        return std::ranges::count(kept, 3) == 1 && std::ranges::count(kept, 200) == 1;
      },
      200);
  EXPECT_EQ(found.kept, (std::vector<size_t>{3, 200}));
}

TEST(MinimizeElements, NeedsOneTrialWhenNoneMatters) {
  const ElementMinimum found =
      minimize_elements({1, 2, 3}, [](const std::vector<size_t>&) { return true; }, 200);
  EXPECT_TRUE(found.kept.empty());
  EXPECT_EQ(found.trials, 1u);
}

TEST(MinimizeElements, KeepsToItsTrialsWhenAllMatter) {
  std::vector<size_t> all(4096);
  std::iota(all.begin(), all.end(), 0);
  uint64_t trials = 0;
  const ElementMinimum found = minimize_elements(
      all,
      [&](const std::vector<size_t>& kept) {
        ++trials;
        return kept.size() == all.size();
      },
      33);
  EXPECT_EQ(found.kept, all);
  EXPECT_EQ(trials, 33u);
}

}  // namespace
}  // namespace gpuemu
