// Tests dims that are computed from others, and ranges that depend on dims.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "judge/cases/case.h"
#include "judge/cases/large_sizes.h"

namespace gpuemu {
namespace {

TensorSpec tensor(const std::string& name, const std::string& dtype) {
  TensorSpec spec;
  spec.name = name;
  spec.dtype = dtype;
  spec.shape = {*Expression::parse("n")};
  return spec;
}

/// x[n] of indices into `rows` rows, where n = 2 * rows + k.
OpConfig indexed() {
  OpConfig op;
  op.name = "indexed";
  op.inputs = {tensor("x", "int32")};
  op.inputs[0].range = {0, 63};
  op.inputs[0].range_high = *Expression::parse("rows - 1");
  op.outputs = {tensor("y", "{dtype}")};
  op.dims = {{"rows", true, {4, 16, 64}}};
  op.attrs = {{"k", DType::Int32, {1, 3}}};
  op.derived_dims = {{"n", *Expression::parse("2 * rows + k")}};
  op.dtypes = {DType::Float32};
  op.layouts = {MemoryLayout::Contiguous};
  return op;
}

TEST(DerivedSizes, DimsFollowFromOthersAndRangesFromDims) {
  const OpConfig op = indexed();
  std::set<int64_t> largest;
  for (uint64_t i = 0; i < 200; ++i) {
    const auto plan = plan_case(op, 7, i, {});
    ASSERT_TRUE(plan) << plan.error().message;
    const int64_t rows = plan->dims.at("rows");
    const int64_t n = 2 * rows + static_cast<int64_t>(plan->attrs.at("k"));
    EXPECT_EQ(plan->dims.at("n"), n);
    EXPECT_EQ(plan->inputs[0].shape, Shape{n});
    std::vector<int32_t> values(static_cast<size_t>(n));
    fill_input(op, *plan, 0, std::as_writable_bytes(std::span(values)));
    EXPECT_GE(std::ranges::min(values), 0);
    EXPECT_LT(std::ranges::max(values), rows);
    largest.insert(std::ranges::max(values));
  }
  EXPECT_TRUE(largest.contains(3) && largest.contains(63));
}

TEST(DerivedSizes, LowersWhatADimFollowsFrom) {
  OpConfig op = indexed();
  op.dims = {{"rows", false, {1, 1000}}};
  for (uint64_t i = 0; i < 100; ++i) {
    const auto plan = plan_case(op, 7, i, {{}, {}, 200});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_LE(element_count(plan->inputs[0].shape), 200);
  }
}

TEST(DerivedSizes, ARangeWithoutValuesIsAnErrorWhereTheTensorHasElements) {
  OpConfig op = indexed();
  op.dims = {{"rows", true, {0}}};
  const auto plan = plan_case(op, 7, 0, {});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("range of 'x': [0, -1] is empty"), std::string::npos)
      << plan.error().message;
  op.derived_dims = {{"n", *Expression::parse("rows")}};
  EXPECT_TRUE(plan_case(op, 7, 0, {}));
}

TEST(DerivedSizes, BecomeOthersWhereTheyDoNotGoTogether) {
  OpConfig op = indexed();
  op.inputs[0].range_high.reset();
  op.dims = {{"m", false, {1, 200}}, {"k", false, {1, 9}}};
  op.attrs = {{"s", DType::Int32, {1, 3}}};
  op.derived_dims = {{"n", *Expression::parse("(m - k) / s + 1")}};
  op.require = *Expression::parse("m >= k");
  std::set<int64_t> windows;
  bool just_fits = false;
  for (uint64_t i = 0; i < 300; ++i) {
    const auto plan = plan_case(op, 7, i, {{}, {}, 50});
    ASSERT_TRUE(plan) << plan.error().message;
    const int64_t m = plan->dims.at("m"), k = plan->dims.at("k");
    EXPECT_GE(m, k);
    EXPECT_LE(plan->dims.at("n"), 50);
    windows.insert(k);
    just_fits = just_fits || (m == k && k > 1);
  }
  EXPECT_EQ(windows.size(), 9U);
  EXPECT_TRUE(just_fits);
  op.require = *Expression::parse("m > 1000");
  const auto none = plan_case(op, 7, 0, {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("require = \"m > 1000\" does not hold with m = "),
            std::string::npos)
      << none.error().message;
}

/// y[m] = x[m], where m is a multiple of the attr k.
OpConfig of_multiples(const std::vector<int64_t>& range, const std::vector<double>& values) {
  OpConfig op = indexed();
  op.inputs[0].range.reset();
  op.inputs[0].range_high.reset();
  op.dims = {{"m", false, range}};
  op.attrs = {{"k", DType::Int32, values}};
  op.derived_dims = {{"n", *Expression::parse("m")}};
  op.require = *Expression::parse("m % k == 0");
  return op;
}

int64_t rest_of(const CasePlan& plan) {
  return plan.dims.at("m") % static_cast<int64_t>(plan.attrs.at("k"));
}

TEST(DerivedSizes, StillGoTogetherWhereTheyAreLowered) {
  const OpConfig op = of_multiples({1, 40000}, {7, 67});
  std::set<int64_t> sizes;
  for (uint64_t i = 0; i < 300; ++i) {
    const auto plan = plan_case(op, 7, i, {{}, {}, 500});
    ASSERT_TRUE(plan) << i << ": " << plan.error().message;
    EXPECT_EQ(rest_of(*plan), 0);
    EXPECT_LE(plan->dims.at("m"), 500);
    sizes.insert(plan->dims.at("m"));
  }
  EXPECT_GE(sizes.size(), 8U);
}

TEST(DerivedSizes, ThatAreLowestBeyondALimitAreDrawnAllTheSame) {
  OpConfig op = of_multiples({1, 2000}, {1});
  op.require = *Expression::parse("m >= 600");
  for (uint64_t i = 0; i < 100; ++i) {
    const auto plan = plan_case(op, 7, i, {{}, {}, 500});
    ASSERT_TRUE(plan) << i << ": " << plan.error().message;
    EXPECT_GE(plan->dims.at("m"), 600);
  }
}

TEST(DerivedSizes, HaveOtherAttrsWhereNoneGoTogetherWithTheirs) {
  OpConfig op = of_multiples({64, 64}, {7, 8});
  for (uint64_t i = 0; i < 100; ++i) {
    const auto plan = plan_case(op, 7, i, {});
    ASSERT_TRUE(plan) << i << ": " << plan.error().message;
    EXPECT_EQ(plan->attrs.at("k"), 8);
  }
}

TEST(DerivedSizes, OfLargeCasesGoTogetherWithEachAttr) {
  const OpConfig op = of_multiples({1, 3000000}, {4, 7, 67});
  CaseOptions options;
  options.large = large_sizes(op, DType::Float32, {.elements = 2000000});
  ASSERT_FALSE(options.large.targets.empty());
  for (const uint64_t row : large_rows(options.large.targets.size())) {
    if (row > 100000) break;
    const auto plan = plan_case(op, 7, row, options);
    ASSERT_TRUE(plan) << row << ": " << plan.error().message;
    EXPECT_EQ(rest_of(*plan), 0) << row;
    EXPECT_GE(plan->dims.at("m"), 2000000 / 64) << row;
  }
}

TEST(DerivedSizes, AreComputedAnewWithOtherDims) {
  const OpConfig op = indexed();
  const auto plan = plan_case(op, 9, 4, {});
  ASSERT_TRUE(plan);
  auto dims = plan->dims;
  dims["rows"] = 4;
  const auto changed = with_dims(op, *plan, dims);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->dims.at("n"), 8 + static_cast<int64_t>(plan->attrs.at("k")));
}

}  // namespace
}  // namespace gpuemu
