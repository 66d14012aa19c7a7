#include "daemon/executor/execute_sparse.h"

#include "daemon/executor/fakes/fake_device.h"
#include "daemon/executor/fakes/plan_fixture.h"

namespace gpuemu {
namespace {

ErrorCode refusal(const ExecutionPlan& plan) {
  FakeDevice device(true);
  Arena arena = add_arena();
  const auto report = execute_sparse(device, 1, arena, plan);
  EXPECT_EQ(device.launch_count(), 0u);
  return report ? ErrorCode::Internal : report.error().code;
}

TEST(ExecuteSparse, NeedsADeviceWithSparseMemory) {
  EXPECT_EQ(refusal(add_plan("add")), ErrorCode::Unsupported);
}

TEST(ExecuteSparse, RefusesWhatCannotBeRepeated) {
  ExecutionPlan none = add_plan("add"), updated = none, shifted = none;
  none.tensors[0].repeats = 0;
  updated.tensors[2].role = PlanTensor::Role::InOut;
  shifted.tensors[1].base_offset_bytes = 16;
  for (const ExecutionPlan& plan : {none, updated, shifted}) {
    EXPECT_EQ(refusal(plan), ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace gpuemu
