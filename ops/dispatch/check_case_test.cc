// Tests calls that must not reach a kernel, with the messages that say why.
#include "ops/dispatch/check_case.h"

#include <gtest/gtest.h>

#include "ops/dispatch/registry.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

using Sizes = std::vector<int64_t>;

struct Operand {
  uint64_t address = 0x1000;
  DType dtype = DType::Float32;
  std::vector<int64_t> shape = {4, 6}, strides = {6, 1};
  DeviceTensor view() const { return {address, dtype, shape, strides}; }
};

/// A call of one op; the tests spoil one thing of it each.
struct Call {
  std::string op;
  std::vector<Operand> inputs, outputs;

  template <typename F>
  auto with_case(F use) const {
    const OpRegistry registry = OpRegistry::with_builtins();
    const OpKind& kind = **registry.find(op);
    std::vector<DeviceTensor> in, out;
    for (const Operand& one : inputs) in.push_back(one.view());
    for (const Operand& one : outputs) out.push_back(one.view());
    DeviceProperties device;
    device.sm = 80;
    return use(OpCase{kind, in, out, Attributes(kind.schema, {}), device});
  }
  std::string problem() const {
    return with_case([](const OpCase& c) {
      const auto types = check_case(c);
      return types ? std::string() : types.error().message;
    });
  }
  std::string refused(const KernelVariant* other = nullptr) const {
    return with_case([&](const OpCase& c) {
      const auto types = check_case(c);
      EXPECT_TRUE(types) << types.error().message;
      return refusal(c, other == nullptr ? c.op.variants[0] : *other, *types);
    });
  }
};

Call add_call() {
  return {"vector_add", {{.address = 0x1000}, {.address = 0x2000}}, {{.address = 0x3000}}};
}

TEST(CheckCase, AcceptsACallAndBindsItsTypes) {
  EXPECT_EQ(add_call().problem(), "");
  add_call().with_case([](const OpCase& c) { EXPECT_EQ(check_case(c)->text(), "T = float32"); });
}

TEST(CheckCase, CountsOperands) {
  Call call = add_call();
  call.inputs.pop_back();
  EXPECT_EQ(call.problem(), "1 inputs, expected 2: a, b");
  call = add_call();
  call.outputs.clear();
  EXPECT_EQ(call.problem(), "0 outputs, expected 1: y");
}

TEST(CheckCase, RefusesShapesThatAreNone) {
  Call call = add_call();
  call.inputs[0].shape = {4, -1};
  EXPECT_NE(call.problem().find("a has the shape [4, -1]"), std::string::npos);
  call.inputs[0].shape = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_NE(call.problem().find("fits 64 bits"), std::string::npos);
  call = add_call();
  call.inputs[1].strides = {1};
  EXPECT_EQ(call.problem(), "b has 1 strides for 2 axes");
  call.inputs[1].strides = {-6, 1};
  EXPECT_NE(call.problem().find("strides [-6, 1], expected values from 0"), std::string::npos);
  call.inputs[1].strides = {INT64_MAX / 2, 1};
  EXPECT_NE(call.problem().find("64 bits"), std::string::npos);
}

TEST(CheckCase, RefusesRanksShapesAndDtypesThatTheOpDoesNotHave) {
  Call call{"matmul", {{.address = 0x1000}, {.address = 0x2000}}, {{.address = 0x3000}}};
  EXPECT_EQ(call.problem(), "b is [4, 6], expected [6, 6]: as many rows as a has columns");
  call.inputs[0].shape = {24};
  call.inputs[0].strides = {1};
  EXPECT_EQ(call.problem(), "a is [24] of rank 1, expected rank 2");
  call = add_call();
  call.inputs[1].dtype = DType::Float16;
  EXPECT_EQ(call.problem(), "b is float16, expected float32 as the operand before it");
}

TEST(CheckCase, RefusesAddressesThatNoTensorHas) {
  Call call = add_call();
  call.inputs[0].address = 0;
  EXPECT_EQ(call.problem(), "a has a null address and 24 elements");
  call.inputs[0].address = 0x1002;
  EXPECT_EQ(call.problem(), "a lies at 0x1002, expected a multiple of 4 for float32");
  call.inputs[0].address = ~uint64_t{0} - 3;
  EXPECT_EQ(call.problem(), "a reaches beyond 64 bits of addresses");
}

TEST(CheckCase, AllowsNullForATensorWithoutElements) {
  Call call = add_call();
  for (auto* list : {&call.inputs, &call.outputs}) {
    for (Operand& one : *list) one = {.address = 0, .shape = {0, 6}, .strides = {6, 1}};
  }
  EXPECT_EQ(call.problem(), "");
}

TEST(CheckCase, RefusesAnOutputThatOverlapsAnInputInPart) {
  Call call = add_call();
  call.outputs[0].address = 0x1000;
  EXPECT_EQ(call.problem(), "");  // The very tensor: vector_add is elementwise.
  call.outputs[0].address = 0x1010;
  EXPECT_EQ(call.problem(), "y and a share memory; only the very same tensor is allowed");
  Call rows{"softmax", {{.address = 0x1000}}, {{.address = 0x1000}}};
  EXPECT_EQ(rows.problem(), "y and x share memory");
}

TEST(CheckCase, RefusesAnOutputWhoseElementsShareAPlace) {
  Call call = add_call();
  call.outputs[0].strides = {0, 1};
  EXPECT_NE(call.problem().find("y has stride 0 along axis 0 of 4 elements"), std::string::npos);
  for (const std::vector<int64_t>& strides :
       {std::vector<int64_t>{5, 1}, {1, 1}, {1, 3}, {6, 2}, {3, 3}}) {
    call.outputs[0].strides = strides;
    EXPECT_NE(call.problem().find("an output needs a place for each element"), std::string::npos)
        << strides[0] << ", " << strides[1];
  }
  for (const std::vector<int64_t>& strides : {std::vector<int64_t>{6, 1}, {1, 4}, {100, 3}}) {
    call.outputs[0].strides = strides;
    EXPECT_EQ(call.problem(), "");
  }
  call = add_call();
  call.inputs[0].strides = {0, 1};
  EXPECT_EQ(call.problem(), "");
}

TEST(CheckCase, AsksNoPlacesOfAxesWithOneElementOrOfATensorWithNone) {
  for (const auto& [shape, strides] : {std::pair<Sizes, Sizes>{{3, 0}, {0, 1}},
                                       {{0, 3}, {0, 0}},
                                       {{1, 6}, {0, 1}},
                                       {{1, 1}, {0, 0}}}) {
    Call call = add_call();
    for (auto* list : {&call.inputs, &call.outputs}) {
      for (Operand& one : *list) one.shape = shape, one.strides = strides;
    }
    EXPECT_EQ(call.problem(), "");
  }
}

Call of_length(int64_t count) {
  Call call = add_call();
  uint64_t at = uint64_t{1} << 40;
  for (auto* list : {&call.inputs, &call.outputs}) {
    for (Operand& one : *list) {
      one = {.address = at, .shape = {count}, .strides = {1}};
      at *= 2;
    }
  }
  return call;
}

TEST(Refusal, NamesWhatAVariantDoesNotCompute) {
  EXPECT_EQ(add_call().refused(), "");
  Call call = add_call();
  call.inputs[0].strides = {0, 1};
  EXPECT_EQ(call.refused(), "a is not contiguous: shape [4, 6], strides [0, 1]");
  call = add_call();
  for (auto* list : {&call.inputs, &call.outputs}) {
    for (Operand& one : *list) one.dtype = DType::Int8;
  }
  EXPECT_EQ(call.refused(), "T is int8, it computes float32, float16, bfloat16, float64");
  EXPECT_EQ(of_length((int64_t{1} << 31) - 1025).refused(), "");
  // `i += blockDim.x` would exceed 2^31 after the last element of a row of this length.
  EXPECT_EQ(of_length((int64_t{1} << 31) - 1024).refused(),
            "a has 2147482624 elements, it counts with 32 bits and takes up to 2147482623");
}

TEST(Refusal, AsksForTheDeviceThatAVariantNeeds) {
  add_call().with_case([](const OpCase& c) {
    KernelVariant variant = c.op.variants[0];
    variant.sm_min = 90;
    EXPECT_EQ(refusal(c, variant, *check_case(c)), "the device is sm_80, it needs sm_90");
    variant.sm_min = 80;
    variant.unsupported = [](const OpCase&) { return std::string("cols is 6"); };
    EXPECT_EQ(refusal(c, variant, *check_case(c)), "cols is 6");
  });
}

}  // namespace
}  // namespace gpuemu
