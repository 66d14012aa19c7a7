// Plans of cases: dims, corners, strategies, layouts.
#include "judge/cases/case.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
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
  op.layouts = {MemoryLayout::Contiguous};
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

TEST(PlanCase, LowersRangesWhoseEndsNoTensorCanHave) {
  OpConfig op = softmax();
  op.dims = {{"rows", false, {1, int64_t{1} << 40}}, {"cols", false, {3, int64_t{1} << 40}}};
  for (uint64_t i = 0; i < 200; ++i) {
    const auto plan = plan_case(op, 42, i, {{}, {}, 1 << 18});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_LE(element_count(plan->inputs[0].shape), 1 << 18);
  }
  op.dims[1] = {"cols", true, {int64_t{1} << 40}};
  const auto never = plan_case(op, 42, 0, {{}, {}, 1 << 18});
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().message.find("too many elements"), std::string::npos);
  op.dims[1] = {"cols", false, {1, 64}};
  op.inputs[0].shape[1] = *Expression::parse("120 / (rows - rows)");
  EXPECT_NE(plan_case(op, 42, 0, {{}, {}, 1 << 18}).error().message.find("division by zero"),
            std::string::npos);
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
  std::set<Strategy> shapes, values;
  for (uint64_t i = 0; i < 300; ++i) {
    const auto plan = plan_case(softmax(), 1, i, {});
    shapes.insert(plan->shape_strategy);
    values.insert(plan->value_strategy);
  }
  EXPECT_EQ(shapes.size(), 9u);
  EXPECT_FALSE(shapes.contains(Strategy::Constants));  // No kernel has reported any.
  EXPECT_TRUE(values.contains(Strategy::BitsUniform) && values.contains(Strategy::Duplicates));
  EXPECT_FALSE(values.contains(Strategy::OneNan));  // No policy defines the right result.
  EXPECT_FALSE(values.contains(Strategy::Large));   // No domain defines legal values.
}

TEST(PlanCase, TheLongestSumsHaveExactCasesOfTheirOwn) {
  OpConfig op = softmax();
  op.dtypes = {DType::Float32};
  op.error_scale = ErrorScale::Sum;
  const int64_t longest = plan_case(op, 42, 1, {})->dims.at("cols");
  for (const uint64_t row : {19u, 23u, 51u, 55u}) {
    const CasePlan plan = *plan_case(op, 42, row, {});
    EXPECT_EQ(plan.shape_strategy, Strategy::LongReduce);
    EXPECT_EQ(plan.value_strategy, Strategy::SmallInt);
    EXPECT_EQ(plan.dims.at("cols"), longest);
    EXPECT_EQ(plan.dims.at("rows"), 1);
  }
  op.error_scale = ErrorScale::Softmax;
  EXPECT_NE(plan_case(op, 42, 19, {})->value_strategy, Strategy::SmallInt)
      << "its sums are rounded";
}

TEST(PlanCase, ShortSumsOfSmallValuesHaveCasesOfTheirOwn) {
  OpConfig op = softmax();
  op.dtypes = {DType::Float32};
  std::set<Strategy> values;
  for (uint64_t row = 11; row < 75; row += 16) {
    const CasePlan plan = *plan_case(op, 42, row, {});
    EXPECT_EQ(plan.shape_strategy, Strategy::ShortReduce);
    EXPECT_TRUE(plan.dims.at("cols") >= 2 && plan.dims.at("cols") <= 8);
    EXPECT_EQ(plan.dims.at("rows"), 64);
    values.insert(plan.value_strategy);
  }
  EXPECT_EQ(values, (std::set<Strategy>{Strategy::Unit, Strategy::SignedZero, Strategy::Normal,
                                        Strategy::BitsUniform}));
  op.accumulate.reset();
  EXPECT_NE(plan_case(op, 42, 11, {})->shape_strategy, Strategy::ShortReduce)
      << "nothing is summed";
  EXPECT_EQ(plan_case(softmax(), 42, 11, {{}, {Strategy::Zeros}})->value_strategy, Strategy::Zeros);
}

TEST(PlanCase, SpecialValuesNeedANanPolicy) {
  OpConfig op = softmax();
  op.has_nan_policy = true;
  std::set<Strategy> values;
  for (uint64_t i = 0; i < 100; ++i) values.insert(plan_case(op, 1, i, {})->value_strategy);
  EXPECT_TRUE(values.contains(Strategy::OneNan) && values.contains(Strategy::OneNinf));
}

TEST(PlanCase, SpecialValuesOfAnOpWithIntegerOutputsAloneComeByName) {
  OpConfig op = softmax();
  op.has_nan_policy = true;
  for (TensorSpec& output : op.outputs) output.dtype = "int32";
  const std::set<Strategy> special = {Strategy::OneNan, Strategy::OneInf, Strategy::OneNinf,
                                      Strategy::Special};
  for (uint64_t i = 0; i < 200; ++i) {
    const Strategy value = plan_case(op, 1, i, {})->value_strategy;
    EXPECT_FALSE(special.contains(value)) << name_of(value) << " has no meaning as an integer";
  }
  EXPECT_EQ(plan_case(op, 1, 3, {{}, {Strategy::OneNan}})->value_strategy, Strategy::OneNan);
  op.outputs.front().dtype = "int8";
  op.outputs.push_back(op.outputs.front());
  op.outputs.back().name = "scales";
  op.outputs.back().dtype = "float16";
  std::set<Strategy> values;
  for (uint64_t i = 0; i < 100; ++i) values.insert(plan_case(op, 1, i, {})->value_strategy);
  EXPECT_TRUE(values.contains(Strategy::OneNan)) << "an output of floats can say NaN";
}

TEST(PlanCase, AnInfinityComesOnlyWhereSomeInputHasNumbersOfItsSign) {
  OpConfig op = softmax();
  op.has_nan_policy = true;
  for (TensorSpec& input : op.inputs) input.range = {{0.5, 100.0}};
  std::set<Strategy> values;
  for (uint64_t i = 0; i < 200; ++i) values.insert(plan_case(op, 1, i, {})->value_strategy);
  EXPECT_TRUE(values.contains(Strategy::OneInf));
  EXPECT_FALSE(values.contains(Strategy::OneNinf));
}

TEST(PlanCase, KeepsToTheStrategiesAskedFor) {
  for (uint64_t i = 0; i < 50; ++i) {
    const auto plan =
        plan_case(softmax(), 1, i, {{}, {Strategy::Normal, Strategy::TileCross}, 1 << 18});
    EXPECT_EQ(plan->value_strategy, Strategy::Normal);
    EXPECT_EQ(plan->shape_strategy, Strategy::TileCross);
  }
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
  op.layouts = {MemoryLayout::Contiguous, MemoryLayout::Strided, MemoryLayout::Transposed};
  op.inputs[0].outer_strides_passed = op.inputs[0].all_strides_passed = true;
  std::set<int64_t> row_pads, steps;
  for (uint64_t i = 0; i < 120; ++i) {
    const auto plan = plan_case(op, 1, i, {});
    if (plan->layout != MemoryLayout::Strided) continue;
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
  op.layouts = {MemoryLayout::Strided, MemoryLayout::Transposed};
  op.inputs[0].outer_strides_passed = true;
  for (uint64_t i = 0; i < 60; ++i) {
    const auto plan = plan_case(op, 1, i, {});
    const Shape& shape = plan->inputs[0].shape;
    const Layout& layout = plan->inputs[0].layout;
    EXPECT_EQ(plan->outputs[0].layout, contiguous_layout(shape));
    EXPECT_EQ(layout.strides[1], 1);
    EXPECT_EQ(layout == contiguous_layout(shape), plan->layout == MemoryLayout::Transposed);
  }
  op.inputs[0].all_strides_passed = true;
  op.layouts = {MemoryLayout::Transposed};
  const auto plan = plan_case(op, 1, 5, {});
  EXPECT_EQ(plan->inputs[0].layout, transposed_layout(plan->inputs[0].shape));
}

TEST(PlanCase, AdvisoryStrategiesComeUpOnlyByName) {
  OpConfig op = softmax();
  op.has_nan_policy = true;
  std::set<Strategy> values;
  for (uint64_t i = 0; i < 200; ++i) values.insert(plan_case(op, 1, i, {})->value_strategy);
  EXPECT_TRUE(values.contains(Strategy::Special) && values.contains(Strategy::SignedZero));
  EXPECT_FALSE(values.contains(Strategy::NearMax) || values.contains(Strategy::MixedAdversarial));
  EXPECT_EQ(plan_case(op, 1, 3, {{}, {Strategy::NearMax}, 1 << 18})->value_strategy,
            Strategy::NearMax);
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

TEST(PlanCase, AnOutputBeginsWithWhatItsExpressionSays) {
  OpConfig op = softmax();
  op.outputs = {tensor("y", {"rows"})};
  op.outputs[0].dtype = "int32";
  op.outputs[0].init = InitialValue{{}, *Expression::parse("rows + 1")};
  const auto plan = plan_case(op, 1, 0, {});
  ASSERT_TRUE(plan) << plan.error().message;
  int32_t begin = 0;
  ASSERT_EQ(plan->outputs[0].initial.size(), sizeof begin);
  std::memcpy(&begin, plan->outputs[0].initial.data(), sizeof begin);
  EXPECT_EQ(begin, plan->dims.at("rows") + 1);
  EXPECT_TRUE(plan->inputs[0].initial.empty());
}

TEST(PlanCase, NamesOpTensorAndExpressionOfASchemaThatFails) {
  OpConfig op = softmax();
  op.outputs = {tensor("y", {"rows / (cols - cols)"})};
  const auto plan = plan_case(op, 1, 0, {});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("softmax"), std::string::npos);
  EXPECT_NE(plan.error().message.find("'y'"), std::string::npos);
}

TEST(PlanCase, EveryPairOfCornersValuesLayoutsAndAttrsMeets) {
  OpConfig op = softmax();
  op.dtypes = {DType::Float32};
  op.layouts = {MemoryLayout::Contiguous, MemoryLayout::Strided, MemoryLayout::Transposed};
  using Pair = std::pair<std::string, std::string>;
  std::set<Pair> met;
  std::set<std::string> values, rows;
  for (uint64_t i = 0; i < 8 + 2 * (23 * 23 - 8); ++i) {
    const auto plan = plan_case(op, 5, i, {{}, {}, int64_t{1} << 40});
    const std::string size = std::to_string(plan->dims.at("rows"));
    const std::string scale = std::to_string(plan->attrs.at("scale"));
    values.emplace(name_of(plan->value_strategy));
    if (i >= 8 && i % 2 != 0) continue;
    rows.insert(size);
    const std::string layout(name_of(plan->layout)), value(name_of(plan->value_strategy));
    met.insert({"rows " + size, value});
    met.insert({"cols " + std::to_string(plan->dims.at("cols")), value});
    met.insert({layout, value});
    met.insert({layout, scale});
    met.insert({"rows " + size, layout});
  }
  EXPECT_GT(rows.size(), 9u);
  for (const std::string& value : values) {
    for (const std::string& size : rows) {
      EXPECT_TRUE(met.contains({"rows " + size, value})) << size << " with " << value;
    }
    for (const MemoryLayout layout : op.layouts) {
      EXPECT_TRUE(met.contains({std::string(name_of(layout)), value}));
    }
  }
  for (const std::string& size : rows) {
    for (const MemoryLayout layout : op.layouts) {
      EXPECT_TRUE(met.contains({"rows " + size, std::string(name_of(layout))}));
    }
  }
}

TEST(PlanCase, ConstantsOfTheKernelHaveCasesOfTheirOwnAndChangeNoOthers) {
  OpConfig op = softmax();
  op.dtypes = {DType::Float32};
  CaseOptions options;
  options.constants.all = {48, 700};
  size_t around = 0;
  for (uint64_t i = 0; i < 80; ++i) {
    const auto plain = plan_case(op, 3, i, {});
    const auto plan = plan_case(op, 3, i, options);
    if (plan->shape_strategy != Strategy::Constants) {
      EXPECT_EQ(plan->dims, plain->dims);
      EXPECT_EQ(plan->value_strategy, plain->value_strategy);
      continue;
    }
    ++around;
    const std::set<int64_t> near = {47, 48, 49, 96, 97, 699, 700, 701, 1400, 1401};
    EXPECT_TRUE(near.contains(plan->dims.at("cols"))) << plan->dims.at("cols");
    EXPECT_TRUE(plan->dims.at("rows") >= 47 && plan->dims.at("rows") <= 49);
  }
  EXPECT_EQ(around, 18u);
}

TEST(PlanCase, TheFirstCasesOfConstantsTakeEachOfThemAsItIs) {
  OpConfig op = softmax();
  op.dtypes = {DType::Float32};
  CaseOptions options;
  options.constants.all = {48, 700, 1999};
  std::set<int64_t> first;
  for (const uint64_t i : {9, 13, 17}) {
    first.insert(plan_case(op, 3, i, options)->dims.at("cols"));
  }
  EXPECT_EQ(first, (std::set<int64_t>{48, 700, 1999}));
}

TEST(PlanCase, WhatIsSingledOutMeetsInTheFirstCasesOfConstants) {
  OpConfig op = softmax();
  op.dtypes = {DType::Float32};
  CaseOptions options;
  options.constants = {{3, 48, 96, 700}, {3, 96}};
  std::set<std::pair<int64_t, int64_t>> met;
  for (const uint64_t i : {9, 13}) {
    const auto plan = plan_case(op, 3, i, options);
    met.emplace(plan->dims.at("rows"), plan->dims.at("cols"));
  }
  // `rows` is at most 64.
  EXPECT_EQ(met, (std::set<std::pair<int64_t, int64_t>>{{3, 3}, {3, 96}}));
  EXPECT_EQ(plan_case(op, 3, 17, options)->dims.at("rows"), 3);
  EXPECT_EQ(plan_case(op, 3, 21, options)->dims.at("rows"), 48);
}

TEST(PlanCase, SizesOfTheKernelComeWithValuesThatShowThem) {
  OpConfig op = softmax();
  CaseOptions options;
  options.constants = {{48}, {48}};
  size_t seen = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (uint64_t i = 0; i < 80; ++i) {
      const auto plan = plan_case(op, seed, i, options);
      if (plan->shape_strategy != Strategy::Constants) continue;
      ++seen;
      EXPECT_NE(plan->value_strategy, Strategy::Zeros);
      EXPECT_NE(plan->value_strategy, Strategy::Impulse);
    }
  }
  EXPECT_GT(seen, 100u);
}

TEST(PlanCase, ConstantsThatNoDimCanBeLeaveTheirCasesToChance) {
  CaseOptions options;
  options.constants.all = {60'000};
  for (uint64_t i = 0; i < 80; ++i) {
    EXPECT_NE(plan_case(softmax(), 3, i, options)->shape_strategy, Strategy::Constants);
  }
}

TEST(PlanCase, ABroadcastInputHasOneElementForManyInBytesToo) {
  OpConfig op = softmax();
  op.layouts = {MemoryLayout::Broadcast};
  for (TensorSpec* spec : {&op.inputs[0], &op.outputs[0]}) spec->all_strides_passed = true;
  std::set<size_t> axes;
  for (uint64_t i = 0; i < 40; ++i) {
    const auto plan = plan_case(op, 1, i, {{DType::Float32}, {Strategy::Uniform10}, 1 << 12});
    const CaseTensor& x = plan->inputs[0];
    EXPECT_EQ(plan->outputs[0].layout, contiguous_layout(x.shape));
    const size_t axis = x.layout.strides[0] == 0 ? 0 : 1;
    ASSERT_EQ(x.layout.strides[axis], 0);
    axes.insert(axis);
    std::vector<float> values(static_cast<size_t>(element_count(x.shape)));
    fill_input(op, *plan, 0, std::as_writable_bytes(std::span(values)));
    const auto columns = static_cast<size_t>(x.shape[1]);
    for (size_t at = 0; at < values.size(); ++at) {
      const size_t first = axis == 0 ? at % columns : at - at % columns;
      ASSERT_EQ(values[at], values[first]);
    }
    // A kernel reads through the strides the values that the reference gets.
    std::vector<float> buffer(static_cast<size_t>(x.layout.buffer_elements)), back(values.size());
    scatter(x.dtype, x.shape, x.layout, std::as_bytes(std::span(values)),
            std::as_writable_bytes(std::span(buffer)));
    gather(x.dtype, x.shape, x.layout, std::as_bytes(std::span(buffer)),
           std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(back, values);
  }
  EXPECT_EQ(axes.size(), 2u);
}

TEST(PlanCase, AReversedLayoutHasANegativeStrideAndTheSameElements) {
  OpConfig op = softmax();
  op.layouts = {MemoryLayout::Reversed};
  op.inputs[0].all_strides_passed = true;
  for (uint64_t i = 0; i < 20; ++i) {
    const auto plan = plan_case(op, 1, i, {{DType::Float32}, {}, 1 << 12});
    const CaseTensor& x = plan->inputs[0];
    EXPECT_LT(std::min(x.layout.strides[0], x.layout.strides[1]), 0);
    std::vector<float> values(static_cast<size_t>(element_count(x.shape))), buffer = values,
                                                                            back = values;
    for (size_t at = 0; at < values.size(); ++at) values[at] = static_cast<float>(at);
    scatter(x.dtype, x.shape, x.layout, std::as_bytes(std::span(values)),
            std::as_writable_bytes(std::span(buffer)));
    gather(x.dtype, x.shape, x.layout, std::as_bytes(std::span(buffer)),
           std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(back, values);
  }
}

TEST(MutatedCase, StaysLegalFollowsFromItsSeedAndHasANameOfItsOwn) {
  OpConfig op = softmax();
  op.layouts = {MemoryLayout::Contiguous, MemoryLayout::Strided};
  const auto from = plan_case(op, 9, 3, {});
  std::set<uint64_t> seeds;
  size_t changed = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const auto one = mutated_case(op, *from, 9, 1000 + i, {});
    const auto again = mutated_case(op, *from, 9, 1000 + i, {});
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(one->dims, again->dims);
    EXPECT_EQ(one->case_seed, again->case_seed);
    EXPECT_EQ(one->dtype, from->dtype);
    EXPECT_TRUE(one->dims.at("rows") >= 1 && one->dims.at("rows") <= 64);
    EXPECT_TRUE(one->dims.at("cols") >= 1 && one->dims.at("cols") <= 4096);
    seeds.insert(one->case_seed);
    if (one->dims != from->dims || one->value_strategy != from->value_strategy ||
        one->layout != from->layout || one->attrs != from->attrs) {
      ++changed;
    }
  }
  EXPECT_EQ(seeds.size(), 200u);
  EXPECT_GT(changed, 160u);
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
