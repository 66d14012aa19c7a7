// Plans of cases: dims, corners, strategies, layouts.
#include "daemon/fuzz/case.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuemu {
namespace {

TensorSpec tensor(const std::string& name, const std::vector<std::string>& shape) {
  TensorSpec spec;
  spec.name = name;
  spec.dtype = "{dtype}";
  for (const std::string& size : shape) spec.shape.push_back(*Expression::parse(size));
  return spec;
}

OpConfig softmax() {
  OpConfig op;
  op.name = "softmax";
  op.inputs = {tensor("x", {"rows", "cols"})};
  op.outputs = {tensor("y", {"rows", "cols"})};
  op.dims = {{"rows", false, {1, 64}}, {"cols", false, {1, 4096}}};
  op.attrs = {{"scale", DType::Float32, {1.0, 0.5}}};
  op.dtypes = {DType::Float32, DType::Float16};
  op.accumulate = *Expression::parse("cols");
  op.layouts = {"contiguous"};
  return op;
}

TEST(CaseSeed, IsThatOfTheVectors) {
  std::ifstream in(GPUEMU_SOURCE_DIR "/tests/crosslang/rng_vectors.json");
  const auto vectors = nlohmann::json::parse(in);
  const auto number = [](const nlohmann::json& text) {
    return std::strtoull(text.get<std::string>().c_str(), nullptr, 10);
  };
  ASSERT_FALSE(vectors["case_seeds"].empty());
  for (const auto& item : vectors["case_seeds"]) {
    EXPECT_EQ(case_seed_of(number(item["base_seed"]), number(item["iteration"]), item["op"]),
              number(item["case_seed"]));
  }
}

TEST(PlanCase, StaysInsideDimsAndElementLimit) {
  OpConfig op = softmax();
  op.dims.push_back({"kind", true, {3, 5, 9}});
  for (uint64_t i = 0; i < 500; ++i) {
    const auto plan = plan_case(op, 42, i, {{}, {}, 10'000});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(plan->dims.at("rows") >= 1 && plan->dims.at("rows") <= 64);
    EXPECT_TRUE(plan->dims.at("cols") >= 1 && plan->dims.at("cols") <= 4096);
    EXPECT_TRUE((std::set<int64_t>{3, 5, 9}.contains(plan->dims.at("kind"))));
    EXPECT_LE(element_count(plan->inputs[0].shape), 10'000);
    EXPECT_EQ(plan->inputs[0].shape, (Shape{plan->dims.at("rows"), plan->dims.at("cols")}));
  }
}

TEST(PlanCase, FirstCasesMeetTheCornersOfEveryDtype) {
  std::map<std::pair<DType, std::string>, std::set<int64_t>> seen;
  OpConfig op = softmax();
  for (uint64_t i = 0; i < 64; ++i) {
    for (const DType dtype : op.dtypes) {
      const auto plan = plan_case(op, 7, 2 * i + (dtype == DType::Float16), {{dtype}, {}, 1 << 18});
      for (const auto& [name, size] : plan->dims) seen[{dtype, name}].insert(size);
    }
  }
  for (const DType dtype : op.dtypes) {
    for (const int64_t size : {1, 2, 3, 15, 16, 17, 31, 32, 33, 64}) {
      EXPECT_TRUE((seen[{dtype, "rows"}].contains(size))) << size;
    }
    for (const int64_t size : {1, 127, 128, 129, 1023, 1024, 1025, 4096}) {
      EXPECT_TRUE((seen[{dtype, "cols"}].contains(size))) << size;
    }
  }
}

TEST(PlanCase, EveryShapeAndValueStrategyComesUp) {
  std::set<std::string> shapes, values;
  for (uint64_t i = 0; i < 300; ++i) {
    const auto plan = plan_case(softmax(), 1, i, {});
    shapes.insert(plan->shape_strategy);
    values.insert(plan->value_strategy);
  }
  EXPECT_EQ(shapes.size(), 7u);
  EXPECT_TRUE(values.contains("bits_uniform") && values.contains("duplicates"));
  EXPECT_FALSE(values.contains("one_nan"));  // No policy says what is right.
  EXPECT_FALSE(values.contains("large"));    // No domain says what is legal.
}

TEST(PlanCase, SpecialValuesNeedANanPolicy) {
  OpConfig op = softmax();
  op.has_nan_policy = true;
  std::set<std::string> values;
  for (uint64_t i = 0; i < 100; ++i) values.insert(plan_case(op, 1, i, {})->value_strategy);
  EXPECT_TRUE(values.contains("one_nan") && values.contains("one_ninf"));
}

TEST(PlanCase, KeepsToTheStrategiesAskedFor) {
  for (uint64_t i = 0; i < 50; ++i) {
    const auto plan = plan_case(softmax(), 1, i, {{}, {"normal", "tile_cross"}, 1 << 18});
    EXPECT_EQ(plan->value_strategy, "normal");
    EXPECT_EQ(plan->shape_strategy, "tile_cross");
  }
  const auto unknown = plan_case(softmax(), 1, 0, {{}, {"nomral"}, 1 << 18});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("nomral"), std::string::npos);
}

TEST(PlanCase, SizeZeroOnlyWhereTheRangeHasIt) {
  OpConfig op = softmax();
  bool zero = false;
  for (uint64_t i = 0; i < 200; ++i) {
    EXPECT_GE(plan_case(op, 3, i, {})->dims.at("rows"), 1);
    op.dims[0].values[0] = 0;
    zero = zero || plan_case(op, 3, i, {})->dims.at("rows") == 0;
    op.dims[0].values[0] = 1;
  }
  EXPECT_TRUE(zero);
}

TEST(PlanCase, StridedTensorsAreRealMemoryWithGaps) {
  OpConfig op = softmax();
  op.layouts = {"contiguous", "strided", "transposed"};
  op.inputs[0].outer_strides_passed = op.inputs[0].all_strides_passed = true;
  std::set<int64_t> row_pads, steps;
  for (uint64_t i = 0; i < 120; ++i) {
    const auto plan = plan_case(op, 1, i, {});
    if (plan->layout != "strided") continue;
    const Shape& shape = plan->inputs[0].shape;
    const Strides& strides = plan->inputs[0].layout.strides;
    steps.insert(strides[1]);
    if (strides[1] == 1) row_pads.insert(strides[0] - shape[1]);
  }
  EXPECT_EQ(row_pads, (std::set<int64_t>{1, 16}));
  EXPECT_EQ(steps, (std::set<int64_t>{1, 2}));
}

TEST(PlanCase, OnlyTensorsWhoseStridesAreKnownLeaveTheContiguousLayout) {
  OpConfig op = softmax();
  op.layouts = {"strided", "transposed"};
  op.inputs[0].outer_strides_passed = true;
  for (uint64_t i = 0; i < 60; ++i) {
    const auto plan = plan_case(op, 1, i, {});
    const Shape& shape = plan->inputs[0].shape;
    const Layout& layout = plan->inputs[0].layout;
    EXPECT_EQ(plan->outputs[0].layout, contiguous_layout(shape));
    EXPECT_EQ(layout.strides[1], 1);
    EXPECT_EQ(layout == contiguous_layout(shape), plan->layout == "transposed");
  }
  op.inputs[0].all_strides_passed = true;
  op.layouts = {"transposed"};
  const auto plan = plan_case(op, 1, 5, {});
  EXPECT_EQ(plan->inputs[0].layout, transposed_layout(plan->inputs[0].shape));
}

TEST(PlanCase, AdvisoryStrategiesComeUpOnlyByName) {
  OpConfig op = softmax();
  op.has_nan_policy = true;
  std::set<std::string> values;
  for (uint64_t i = 0; i < 200; ++i) values.insert(plan_case(op, 1, i, {})->value_strategy);
  EXPECT_TRUE(values.contains("special") && values.contains("signed_zero"));
  EXPECT_FALSE(values.contains("near_max") || values.contains("mixed_adversarial"));
  EXPECT_EQ(plan_case(op, 1, 3, {{}, {"near_max"}, 1 << 18})->value_strategy, "near_max");
}

TEST(PlanCase, ANegativeSizeNamesTheExpression) {
  OpConfig op = softmax();
  op.outputs = {tensor("y", {"rows - 100"})};
  const auto plan = plan_case(op, 1, 0, {});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("shape of 'y': expression 'rows - 100', column 6"),
            std::string::npos)
      << plan.error().message;
}

TEST(PlanCase, AnInoutTensorStandsInBoth) {
  OpConfig op = softmax();
  op.outputs = {tensor("x", {})};
  op.outputs[0].inout = true;
  const auto plan = plan_case(op, 1, 0, {});
  EXPECT_TRUE(plan->inputs[0].inout && plan->outputs[0].inout);
  EXPECT_EQ(plan->inputs[0].shape, plan->outputs[0].shape);
}

TEST(PlanCase, NamesOpTensorAndExpressionOfASchemaThatFails) {
  OpConfig op = softmax();
  op.outputs = {tensor("y", {"rows / (cols - cols)"})};
  const auto plan = plan_case(op, 1, 0, {});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("softmax"), std::string::npos);
  EXPECT_NE(plan.error().message.find("'y'"), std::string::npos);
}

TEST(WithDims, DerivesShapesAnewAndKeepsTheRest) {
  const auto plan = plan_case(softmax(), 9, 40, {});
  const auto changed = with_dims(softmax(), *plan, {{"rows", 2}, {"cols", 5}});
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->inputs[0].shape, (Shape{2, 5}));
  EXPECT_EQ(changed->value_strategy, plan->value_strategy);
  EXPECT_EQ(changed->attrs, plan->attrs);
}

}  // namespace
}  // namespace gpuemu
