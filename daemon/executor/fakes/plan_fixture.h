// Test helper: the plan of y = a + b over four floats.
#pragma once

#include <cstring>

#include <gtest/gtest.h>

#include "common/base/arena.h"
#include "daemon/executor/plan.h"

namespace gpuemu {

inline PlanTensor plan_vector(const std::string& name, PlanTensor::Role role, uint64_t offset) {
  PlanTensor tensor;
  tensor.name = name;
  tensor.role = role;
  tensor.shape = {4};
  tensor.layout = contiguous_layout(tensor.shape);
  tensor.arena_offset = tensor.output_offset = offset;
  return tensor;
}

inline ExecutionPlan add_plan(const std::string& entry) {
  ExecutionPlan plan;
  plan.module_key = "key";
  plan.module_name = "add.ptx";
  plan.tensors = {plan_vector("a", PlanTensor::Role::Input, 0),
                  plan_vector("b", PlanTensor::Role::Input, 64),
                  plan_vector("y", PlanTensor::Role::Output, 128)};
  PlanLaunch launch;
  launch.entry = entry;
  launch.args = {{0, {}, "a"}, {1, {}, "b"}, {2, {}, "y"}};
  const uint32_t count = 4;
  const auto* bytes = reinterpret_cast<const std::byte*>(&count);
  launch.args.push_back({-1, {bytes, bytes + sizeof count}, "n"});
  plan.launches = {launch};
  return plan;
}

inline Arena add_arena() {
  auto arena = Arena::create();
  EXPECT_TRUE(arena);
  EXPECT_TRUE(arena->grow(4096));
  const float values[2][4] = {{1, 2, 3, 4}, {10, 20, 30, 40}};
  for (uint64_t i = 0; i < 2; ++i) {
    auto to = arena->range(64 * i, sizeof values[i]);
    std::memcpy(to->data(), values[i], sizeof values[i]);
  }
  return *std::move(arena);
}

inline std::vector<float> floats_at(Arena& arena, uint64_t offset, size_t count = 4) {
  std::vector<float> values(count);
  auto from = arena.range(offset, count * sizeof(float));
  EXPECT_TRUE(from);
  std::memcpy(values.data(), from->data(), count * sizeof(float));
  return values;
}

}  // namespace gpuemu
