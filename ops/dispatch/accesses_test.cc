#include "ops/dispatch/accesses.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

constexpr std::array<int64_t, 2> kShape = {3, 4}, kStrides = {10, 1}, kNone = {0, 4};

DeviceTensor tensor(uint64_t address, std::span<const int64_t> shape = kShape,
                    std::span<const int64_t> strides = kStrides) {
  return {address, DType::Float32, shape, strides};
}

OpCase case_of(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  static const OpKind kOp;
  static const AttributeSchema kSchema;
  static const DeviceProperties kDevice;
  return {kOp, in, out, Attributes(kSchema, {}), kDevice};
}

TEST(Accesses, ReachFromTheFirstToTheLastElement) {
  const std::vector<DeviceTensor> in = {tensor(0x1000)}, out = {tensor(0x2000)};
  const Accesses accesses(case_of(in, out), 0, {});
  ASSERT_EQ(accesses.list().size(), 2U);
  EXPECT_EQ(accesses.list()[0].begin, 0x1000U);
  EXPECT_EQ(accesses.list()[0].end, 0x1000U + 4 * (2 * 10 + 3 + 1));
  EXPECT_FALSE(accesses.list()[0].writes);
  EXPECT_TRUE(accesses.list()[1].writes);
}

TEST(Accesses, HaveTheWorkspaceAndNoTensorWithoutElements) {
  const std::vector<DeviceTensor> in = {tensor(0, kNone)}, out = {tensor(0x2000)};
  OpCase c = case_of(in, out);
  c.workspace = 0x3000;
  const Accesses accesses(c, 64, {});
  ASSERT_EQ(accesses.list().size(), 2U);
  EXPECT_EQ(accesses.list()[1].begin, 0x3000U);
  EXPECT_EQ(accesses.list()[1].end, 0x3040U);
  EXPECT_TRUE(accesses.list()[1].writes);
}

TEST(Accesses, AreThoseThatTheLaunchNames) {
  const std::vector<DeviceTensor> in = {tensor(0x1000), tensor(0x2000)},
                                  out = {tensor(0x3000), tensor(0x4000)};
  LaunchStep step;
  step.touches({1}, {0});
  const Accesses accesses(case_of(in, out), 0, step);
  ASSERT_EQ(accesses.list().size(), 2U);
  EXPECT_EQ(accesses.list()[0].begin, 0x2000U);
  EXPECT_EQ(accesses.list()[1].begin, 0x3000U);
}

TEST(Accesses, OfTooManyOperandsAreNotTold) {
  const std::vector<DeviceTensor> in(20, tensor(0x1000)), out = {tensor(0x2000)};
  EXPECT_TRUE(Accesses(case_of(in, out), 0, {}).list().empty());
}

/// A launch accesses every address that it gets, so its declared accesses must include it.
TEST(Accesses, OfLinearBwdAreThoseOfItsArguments) {
  constexpr std::array<int64_t, 2> kX = {5, 6}, kW = {7, 6}, kDy = {5, 7};
  constexpr std::array<int64_t, 1> kBias = {7};
  constexpr std::array<int64_t, 2> kSix = {6, 1}, kSeven = {7, 1};
  constexpr std::array<int64_t, 1> kOne = {1};
  const std::vector<DeviceTensor> in = {tensor(0x1000, kX, kSix), tensor(0x2000, kW, kSix),
                                        tensor(0x3000, kDy, kSeven)};
  const std::vector<DeviceTensor> out = {tensor(0x4000, kX, kSix), tensor(0x5000, kW, kSix),
                                         tensor(0x6000, kBias, kOne)};
  const auto found = std::ranges::find_if(
      builtin_ops(), [](const OpKind* op) { return op->name == "linear_bwd"; });
  const OpCase c = case_of(in, out);
  std::vector<LaunchStep> steps;
  for (const auto& variant : (*found)->variants) {
    Plan plan;
    variant.plan(c, plan);
    steps.insert(steps.end(), plan.steps().begin(), plan.steps().end());
  }
  ASSERT_EQ(steps.size(), 4U);  // One of `small`, three of `tiled`.
  for (const LaunchStep& step : steps) {
    std::vector<uint64_t> given, told;
    for (size_t i = 0; i < step.arg_count(); ++i) {
      uint64_t address = 0;
      if (step.argument(i).size() != sizeof address) continue;
      std::memcpy(&address, step.argument(i).data(), sizeof address);
      given.push_back(address);
    }
    const Accesses accesses(c, 0, step);
    for (const MemoryAccess& access : accesses.list()) told.push_back(access.begin);
    std::ranges::sort(given);
    std::ranges::sort(told);
    EXPECT_EQ(given, told);
  }
}

}  // namespace
}  // namespace gpuemu
