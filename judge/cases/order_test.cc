// Which value strategies the first cases of a run have.
#include "judge/cases/order.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TensorSpec tensor(const std::string& name) {
  TensorSpec spec;
  spec.name = name;
  spec.dtype = "{dtype}";
  for (const char* size : {"rows", "cols"}) spec.shape.push_back(*Expression::parse(size));
  return spec;
}

/// Returns the options for a project that declares only shapes and a reference.
OpConfig plain_op(std::vector<DType> dtypes) {
  OpConfig op;
  op.name = "softmax";
  op.inputs = {tensor("x")};
  op.outputs = {tensor("y")};
  op.dims = {{"rows", false, {1, 64}}, {"cols", false, {1, 300}}};
  op.dtypes = std::move(dtypes);
  op.has_nan_policy = true;
  op.layouts = {MemoryLayout::Contiguous};
  return op;
}

CaseOptions with_numbers() {
  CaseOptions options;
  options.constants = {{32}, {}, {0.5}, {7}};
  return options;
}

std::map<Strategy, std::vector<uint64_t>> rows_by_strategy(const OpConfig& op, DType dtype,
                                                           uint64_t seed,
                                                           const CaseOptions& options) {
  std::map<Strategy, std::vector<uint64_t>> rows;
  CaseOptions of = options;
  of.dtypes = {dtype};
  const auto index = static_cast<uint64_t>(std::ranges::find(op.dtypes, dtype) - op.dtypes.begin());
  for (uint64_t row = 0; row < 24; ++row) {
    rows[plan_case(op, seed, row * op.dtypes.size() + index, of)->value_strategy].push_back(row);
  }
  return rows;
}

TEST(Order, WhatChanceMissesHasCasesOfItsOwnInEveryRun) {
  const OpConfig op = plain_op({DType::Float32, DType::Float16, DType::BFloat16});
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    for (const DType dtype : op.dtypes) {
      auto rows = rows_by_strategy(op, dtype, seed, with_numbers());
      using Rows = std::vector<uint64_t>;
      EXPECT_EQ(rows[Strategy::TileMaxima], (Rows{1, 23}));
      EXPECT_EQ(rows[Strategy::RowMix], (Rows{4, 9, 19}));
      EXPECT_EQ(rows[Strategy::RowSpecials], (Rows{6, 10, 13, 14}));
      EXPECT_EQ(rows[Strategy::Unit], Rows{11});
      EXPECT_EQ(rows[Strategy::Offset], Rows{21});
      EXPECT_EQ(rows[Strategy::Thresholds], (Rows{3, 17}));
      EXPECT_EQ(rows[Strategy::ExactTies], Rows{15});
      for (const Strategy usual :
           {Strategy::BitsUniform, Strategy::Normal, Strategy::Uniform10, Strategy::Unit,
            Strategy::SmallInt, Strategy::Offset, Strategy::Tiny, Strategy::Subnormal,
            Strategy::Special, Strategy::SignedZero, Strategy::Duplicates}) {
        EXPECT_EQ(rows[usual].size(), 1u) << name_of(usual) << ", seed " << seed;
      }
    }
  }
}

TEST(Order, WithoutNumbersOfTheKernelNothingIsLeftEmpty) {
  OpConfig op = plain_op({DType::Float32});
  op.has_nan_policy = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto rows = rows_by_strategy(op, DType::Float32, seed, {});
    EXPECT_FALSE(rows.contains(Strategy::Thresholds) || rows.contains(Strategy::RowSpecials));
    EXPECT_EQ(rows[Strategy::TileMaxima].size(), 2u);
    EXPECT_GE(rows.size(), 17u);
  }
}

TEST(Order, IntegersMeetTheNumbersOfTheKernel) {
  const OpConfig op = plain_op({DType::Int32});
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto rows = rows_by_strategy(op, DType::Int32, seed, with_numbers());
    EXPECT_EQ(std::ranges::count(rows[Strategy::IntThresholds], 3), 1);
    EXPECT_EQ(std::ranges::count(rows[Strategy::IntThresholds], 17), 1);
    EXPECT_GE(rows.size(), 12u) << "and everything else";
    EXPECT_FALSE(rows_by_strategy(op, DType::Int32, seed, {}).contains(Strategy::IntThresholds));
  }
}

TEST(Order, TellsTheTurnAndTheNumbersWithTheCase) {
  const OpConfig op = plain_op({DType::Float32});
  std::set<double> turns;
  for (uint64_t row = 0; row < 24; ++row) {
    const CasePlan plan = *plan_case(op, 5, row, with_numbers());
    if (plan.value_strategy == Strategy::RowSpecials) turns.insert(plan.value_parameters.at(0));
    if (plan.value_strategy == Strategy::Thresholds) {
      EXPECT_EQ(plan.value_parameters, (std::vector<double>{0.5}));
    }
    if (plan.value_strategy == Strategy::Normal) {
      EXPECT_TRUE(plan.value_parameters.empty());
    }
  }
  EXPECT_EQ(turns, (std::set<double>{0, 1, 2, 3}));
}

TEST(Order, IntegersBesideFloatsMeetTheWholeNumbersOfTheKernel) {
  OpConfig op = plain_op({DType::Float32});
  op.inputs.push_back(tensor("label"));
  op.inputs.back().dtype = "int32";
  for (const uint64_t row : {3, 17}) {
    EXPECT_EQ(plan_case(op, 5, row, with_numbers())->value_parameters,
              (std::vector<double>{0.5, 7}));
  }
  CaseOptions whole = with_numbers();
  whole.constants.floats.clear();
  whole.constants.integers = {500, 1 << 30};
  const CasePlan plan = *plan_case(op, 5, 3, whole);
  EXPECT_EQ(plan.value_strategy, Strategy::Thresholds);
  EXPECT_EQ(plan.value_parameters, std::vector<double>{500}) << "floats would meet 2^30 too";
}

TEST(Order, ValuesThatFewElementsDoNotShowHaveEnough) {
  OpConfig op = plain_op({DType::Float32});
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto far = plan_case(op, seed, 21, with_numbers())->dims;
    EXPECT_TRUE(far.at("rows") >= 4 && far.at("cols") >= 4) << "seed " << seed;
    EXPECT_GE(far.at("rows") * far.at("cols"), 128) << "seed " << seed;
    const auto numbers = plan_case(op, seed, 17, with_numbers())->dims;
    EXPECT_GE(numbers.at("rows") * numbers.at("cols"), 128) << "seed " << seed;
    const auto longest = plan_case(op, seed, 11, with_numbers())->dims;
    EXPECT_EQ(longest.at("cols"), 300) << "half sums lose most of it";
    EXPECT_LE(longest.at("rows"), 3);
  }
}

TEST(Order, EachNumberOfAKernelComesSeveralTimes) {
  const OpConfig op = plain_op({DType::Float32});
  CaseOptions options = with_numbers();
  options.constants.floats = {-3.5, 0.02, 3.5, 7, 9, 11};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto dims = plan_case(op, seed, 17, options)->dims;
    EXPECT_GE(dims.at("rows") * dims.at("cols"), 6 * 48) << "seed " << seed;
  }
}

TEST(Order, SizesThatNoInputHasDoNotCountAsElements) {
  OpConfig op = plain_op({DType::Float32});
  op.inputs.front().shape.pop_back();
  op.outputs.front().shape.pop_back();
  op.dims.front().values = {1, 3000};
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    EXPECT_GE(plan_case(op, seed, 17, with_numbers())->dims.at("rows"), 128) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gpuemu
