// Tests which large cases an op gets, and which declared sizes are reported as not run.
#include "judge/cases/large_sizes.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "judge/cases/case_tensors.h"

namespace gpuemu {
namespace {

using Dims = std::map<std::string, int64_t>;

TensorSpec tensor(const std::string& name, const std::vector<std::string>& shape) {
  TensorSpec spec;
  spec.name = name;
  spec.dtype = "{dtype}";
  for (const std::string& size : shape) spec.shape.push_back(*Expression::parse(size));
  return spec;
}

OpConfig scale(int64_t most) {
  OpConfig op;
  op.name = "scale";
  op.inputs = {tensor("x", {"n"})};
  op.outputs = {tensor("y", {"n"})};
  op.dims = {{"n", false, {1, most}}};
  op.dtypes = {DType::Float32};
  op.layouts = {MemoryLayout::Contiguous};
  return op;
}

OpConfig gemm(int64_t most) {
  OpConfig op = scale(1);
  op.name = "gemm";
  op.inputs = {tensor("a", {"m", "k"}), tensor("b", {"k", "n"})};
  op.outputs = {tensor("c", {"m", "n"})};
  op.dims = {{"m", false, {1, most}}, {"n", false, {1, most}}, {"k", false, {1, most}}};
  return op;
}

SizeLimits limits(int64_t elements) {
  Config config;
  config.max_elements = static_cast<uint64_t>(elements);
  return size_limits(config, OpConfig(), "emulator");
}

LargeSizes found(const OpConfig& op, int64_t elements = 20'000'000) {
  return large_sizes(op, DType::Float32, limits(elements));
}

TEST(LargeSizes, AnOpWhoseSizesAllComeInUsualCasesHasNone) {
  const LargeSizes large = found(scale(kUsualElementsMax));
  EXPECT_TRUE(large.targets.empty());
  EXPECT_TRUE(large.not_run.empty());
}

TEST(LargeSizes, DimsThatFollowFromOthersAreNoSizesOfTheirOwn) {
  OpConfig op = scale(512);
  op.inputs = op.outputs = {tensor("x", {"n", "twice"})};
  op.derived_dims = {{"twice", *Expression::parse("2 * n")}};
  const LargeSizes large = found(op);
  EXPECT_TRUE(large.not_run.empty()) << large.not_run.front();
  ASSERT_FALSE(large.targets.empty());
  EXPECT_EQ(large.targets.front(), (Dims{{"n", 512}}));
}

TEST(LargeSizes, TheLargestDeclaredSizeIsRun) {
  const LargeSizes large = found(scale(4'194'304));
  EXPECT_EQ(large.targets, (std::vector<Dims>{{{"n", 4'194'304}}}));
  EXPECT_TRUE(large.not_run.empty());
}

TEST(LargeSizes, WhatDoesNotFitIsLoweredNoFurtherThanItMustAndSaid) {
  const LargeSizes large = found(scale(int64_t{1} << 25));
  EXPECT_EQ(large.targets, (std::vector<Dims>{{{"n", 20'000'000}}}));
  ASSERT_EQ(large.not_run.size(), 1u);
  EXPECT_EQ(large.not_run[0],
            "n above 20000000 (declared up to 33554432): a tensor would have 33554432 elements, "
            "max_elements is 20000000; raise max_elements in gpuemu.toml or by --max-elements");
}

TEST(LargeSizes, EveryDimIsAtItsLargestInSomeCase) {
  const LargeSizes large = found(gemm(4096));
  ASSERT_EQ(large.targets.size(), 4u);
  const double together = 1.0 * static_cast<double>(large.targets[0].at("m")) *
                          static_cast<double>(large.targets[0].at("n")) *
                          static_cast<double>(large.targets[0].at("k"));
  EXPECT_LE(together, 16.0 * 20'000'000);
  EXPECT_GE(together, 0.4 * 16.0 * 20'000'000) << "much larger ones would fit";
  for (const auto& [at, name] :
       std::vector<std::pair<size_t, std::string>>{{1, "m"}, {2, "n"}, {3, "k"}}) {
    EXPECT_EQ(large.targets[at].at(name), 4096);
  }
  ASSERT_EQ(large.not_run.size(), 1u);
  EXPECT_NE(large.not_run[0].find("m = 4096, n = 4096, k = 4096 together"), std::string::npos)
      << large.not_run[0];
  EXPECT_NE(large.not_run[0].find("product of the dims"), std::string::npos) << large.not_run[0];
}

TEST(LargeSizes, RowsAreAtTheirLargestWhereAllAtOnceDoNotFit) {
  OpConfig op = scale(1);
  op.inputs = {tensor("x", {"rows", "cols"})};
  op.outputs = {tensor("y", {"rows", "cols"})};
  op.dims = {{"rows", false, {1, 100'000}}, {"cols", false, {1, 1024}}};
  const LargeSizes large = found(op);
  const bool has_rows = std::ranges::any_of(
      large.targets, [](const Dims& dims) { return dims.at("rows") == 100'000; });
  EXPECT_TRUE(has_rows) << "a grid of more than 2^16 blocks, where each takes a row";
}

TEST(LargeSizes, WhatRequireExcludesIsNotSaidToBeTooLarge) {
  OpConfig op = gemm(12);
  op.require = *Expression::parse("m % n == 0 && k < 12");
  const LargeSizes small = found(op);
  EXPECT_TRUE(small.targets.empty());
  EXPECT_TRUE(small.not_run.empty()) << small.not_run.front();
  op = gemm(9'000);
  op.require = *Expression::parse("n < m");
  const LargeSizes large = found(op, 1'000'000);
  ASSERT_FALSE(large.not_run.empty());
  for (const std::string& text : large.not_run) {
    EXPECT_EQ(text.find("too many"), std::string::npos) << text;
  }
}

TEST(LargeSizes, MemoryAndTheLimitOfTheOpCountToo) {
  Config config;
  config.memory_limit_mb = 64;
  OpConfig op = scale(10'000'000);
  const LargeSizes small = large_sizes(op, DType::Float32, size_limits(config, op, "emulator"));
  EXPECT_LE(small.targets.at(0).at("n"), (16 << 20) / 8);
  EXPECT_NE(small.not_run.at(0).find("memory_limit_mb"), std::string::npos) << small.not_run[0];
  config.memory_limit_mb = 4096;
  op.max_elements = 1'000'000;
  EXPECT_EQ(size_limits(config, op, "emulator").elements, 1'000'000);
  config.max_elements = 5;
  EXPECT_EQ(size_limits(config, op, "emulator").elements, 1'000'000) << "the op's own wins";
  op.max_elements.reset();
  EXPECT_EQ(size_limits(config, op, "emulator").elements, 5);
  config.max_elements.reset();
  EXPECT_GT(size_limits(config, op, "cuda").elements, size_limits(config, op, "emulator").elements);
}

TEST(LargeSizes, ALimitBelowUsualCasesIsSaidAsWell) {
  const LargeSizes large = found(scale(10'000), 1000);
  EXPECT_EQ(large.targets, (std::vector<Dims>{{{"n", 1000}}}));
  ASSERT_EQ(large.not_run.size(), 1u);
  EXPECT_NE(large.not_run[0].find("n above 1000 (declared up to 10000)"), std::string::npos)
      << large.not_run[0];
}

TEST(LargeSizes, TheTargetIsOneThatAKernelTakes) {
  const auto even = [](const CasePlan& plan) { return plan.dims.at("n") % 64 == 0; };
  const LargeSizes large =
      large_sizes(scale(int64_t{1} << 25), DType::Float32, limits(19'999'999), even);
  EXPECT_EQ(large.targets.at(0).at("n") % 64, 0);
  EXPECT_GT(large.targets.at(0).at("n"), 19'999'000);
}

CaseOptions with_large(const OpConfig& op) {
  CaseOptions options;
  options.large = found(op);
  return options;
}

TEST(LargeCases, TenCasesHaveTwoAndLongRunsFew) {
  const OpConfig op = scale(4'194'304);
  const CaseOptions options = with_large(op);
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < 1000; ++i) {
    const CasePlan plan = *plan_case(op, 42, i, options);
    if (plan.shape_strategy == Strategy::Largest) rows.push_back(i);
  }
  EXPECT_EQ(rows, (std::vector<uint64_t>{2, 4, 32, 64, 128, 256, 512}));
  EXPECT_EQ(plan_case(op, 42, 2, options)->dims.at("n"), 4'194'304);
  const int64_t drawn = plan_case(op, 42, 4, options)->dims.at("n");
  EXPECT_TRUE(drawn >= 4'194'304 / 32 && drawn <= 4'194'304 / 4 + 1) << drawn;
  EXPECT_EQ(drawn % 2, 1);
}

TEST(LargeCases, TheOthersFollowEachOtherAsWithoutThem) {
  const OpConfig op = scale(4'194'304);
  const CaseOptions options = with_large(op);
  // Corners of the covering array, by row.
  EXPECT_EQ(plan_case(op, 42, 0, options)->dims.at("n"), 1);
  EXPECT_EQ(plan_case(op, 42, 1, options)->dims.at("n"), kUsualElementsMax);
  EXPECT_EQ(plan_case(op, 42, 3, options)->dims, plan_case(op, 42, 2, {})->dims);
  EXPECT_EQ(plan_case(op, 42, 5, options)->dims, plan_case(op, 42, 3, {})->dims);
  EXPECT_EQ(plan_case(op, 42, 9, options)->value_strategy,
            plan_case(op, 42, 7, {})->value_strategy);
}

TEST(LargeCases, RowsAndTurnsAgree) {
  for (const size_t targets : {0u, 1u, 2u, 5u, 9u}) {
    const std::vector<uint64_t> rows = large_rows(targets);
    uint64_t seen = 0;
    for (uint64_t row = 0; row < 600; ++row) {
      const LargeTurn turn = large_turn(row, targets);
      EXPECT_EQ(turn.before, seen);
      EXPECT_EQ(turn.is_large, std::ranges::find(rows, row) != rows.end());
      seen += turn.is_large ? 1 : 0;
    }
    EXPECT_TRUE(targets == 0 || rows.size() > targets);
  }
}

TEST(LargeCases, EveryTargetComesInTenCases) {
  const OpConfig op = gemm(4096);
  const CaseOptions options = with_large(op);
  std::set<Dims> seen;
  for (uint64_t i = 0; i < 10; ++i) {
    const CasePlan plan = *plan_case(op, 7, i, options);
    EXPECT_LE(product_of_dims(plan), 16.0 * 20'000'000);
    EXPECT_LE(largest_tensor(plan), 20'000'000);
    seen.insert(plan.dims);
  }
  for (const Dims& dims : options.large.targets) EXPECT_TRUE(seen.contains(dims));
}

TEST(LargeCases, KeepToTheStrategiesAskedFor) {
  const OpConfig op = scale(4'194'304);
  CaseOptions options = with_large(op);
  options.strategies = {Strategy::Zeros};
  EXPECT_EQ(plan_case(op, 42, 2, options)->value_strategy, Strategy::Zeros);
  options.strategies = {Strategy::TileCross};
  EXPECT_EQ(plan_case(op, 42, 2, options)->shape_strategy, Strategy::TileCross);
}

}  // namespace
}  // namespace gpuemu
