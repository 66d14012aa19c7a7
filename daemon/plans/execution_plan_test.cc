#include "daemon/plans/execution_plan.h"

#include <gtest/gtest.h>

#include "judge/explain/shadow_options.h"

namespace gpuemu {
namespace {

TEST(ExecutionPlan, PutsTheShadowsBehindAllTensors) {
  BuiltPlan built;
  built.result_offset = 100;
  for (const auto role : {PlanTensor::Role::Input, PlanTensor::Role::Output}) {
    PlanTensor& tensor = built.plan.tensors.emplace_back();
    tensor.name = role == PlanTensor::Role::Input ? "x" : "y";
    tensor.role = role;
    tensor.shape = {3};
  }
  plan_shadow({"y", 2, 5}, built);
  EXPECT_EQ(built.plan.shadow.offsets, (std::vector<uint64_t>{128, 128}));
  EXPECT_EQ(built.result_offset, 128 + 3 * sizeof(ElementShadow));
  EXPECT_EQ(built.plan.shadow.tensor, 1);
  EXPECT_EQ(built.plan.shadow.block, 5u);
  EXPECT_EQ(built.plan.runs, 1u);
}

}  // namespace
}  // namespace gpuemu
