// Tests declarations as text: what they are converted to, and the errors in wrong ones.
#include "ops/registered/declaration.h"

#include <gtest/gtest.h>

#include "ops/registered/text_rules.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

OpDeclaration scale() {
  return {.name = "scale",
          .summary = "y = k x",
          .inputs = {"x: T", "index: I, rank 1"},
          .outputs = {"y: T, rank 2 to 3"},
          .fields = {{"k", "float32", 2.0}}};
}
KernelDeclaration plain() {
  return {.name = "plain",
          .source = "// text\n.version 7.0\n",
          .launches = {{.entry = "scale_{T}",
                        .grid = {"cdiv(y.count, 128)"},
                        .block = {"128"},
                        .args = {"x", "y", "i64:y.count", "f32:k"}}}};
}
std::string problem(OpDeclaration declaration) {
  const auto made = op_of(declaration);
  return made ? "" : made.error().message;
}
std::string problem(const KernelDeclaration& declaration) {
  const OpKind op = *op_of(scale());
  std::string text;
  if (const auto made = variant_of(op, declaration, text); !made) return made.error().message;
  const auto rules = rules_of(op, op.schema, declaration);
  return rules ? "" : rules.error().message;
}

TEST(Declarations, BecomeOpsWithRanksAndFields) {
  const OpKind op = *op_of(scale());
  EXPECT_EQ(op.inputs[1].type, 'I');
  EXPECT_EQ(op.inputs[1].rank_min, 1U);
  EXPECT_EQ(op.outputs[0].rank_max, 3U);
  EXPECT_EQ(op.inputs[0].rank_max, kRankMax);
  EXPECT_EQ(op.schema.fields[0].type, AttributeType::Float32);
}

TEST(Declarations, OfOpsThatAreWrongSayWhatWasExpected) {
  OpDeclaration one = scale();
  one.inputs[0] = "x T";
  EXPECT_EQ(problem(one),
            "operand \"x T\": expected a text such as \"x: T\", \"index: I, rank 1\" or \"w: T, "
            "rank 2 to 4\"");
  for (const char* bad :
       {"x: TT", "x: t", ": T", "x: T, 2", "x: T, rank 9", "x: T, rank 3 to 2", "1x: T"}) {
    one.inputs[0] = bad;
    EXPECT_NE(problem(one), "") << bad;
  }
  one = scale();
  one.fields[0].dtype = "uint64";
  EXPECT_EQ(problem(one), "schema: 'k' is uint64, expected int32, int64, float32 or float64");
  one = scale();
  one.name = "my op";
  EXPECT_EQ(problem(one), "'my op' cannot be the name of an op: expected letters, digits and _");
}

TEST(Declarations, BecomeVariantsWithLaunches) {
  const OpKind op = *op_of(scale());
  std::string text;
  const KernelVariant variant = *variant_of(op, plain(), text);
  EXPECT_TRUE(variant.source_is_ptx);
  EXPECT_EQ(variant.module, "plain.ptx");
  ASSERT_EQ(variant.types.size(), 2U);
  EXPECT_EQ(variant.types[0].dtypes.size(), 4U);
  const auto rules = *rules_of(op, op.schema, plain());
  const std::vector<int64_t> shape = {2, 100}, strides = {100, 1};
  const std::vector<DeviceTensor> in(
      2, DeviceTensor{.address = 64, .shape = shape, .strides = strides});
  const std::vector<DeviceTensor> out(
      1, DeviceTensor{.address = 4096, .shape = shape, .strides = strides});
  const DeviceProperties device;
  const OpCase c{op, in, out, Attributes(op.schema, {}), device};
  Plan plan;
  ASSERT_TRUE(rules->plan(c, plan));
  ASSERT_EQ(plan.steps().size(), 1U);
  EXPECT_EQ(plan.steps()[0].grid.x, 2U);
  EXPECT_EQ(plan.steps()[0].block.x, 128U);
  int64_t count = 0;
  std::memcpy(&count, plan.steps()[0].argument(2).data(), sizeof count);
  EXPECT_EQ(count, 200);
  float k = 0;
  std::memcpy(&k, plan.steps()[0].argument(3).data(), sizeof k);
  EXPECT_EQ(k, 2.0F);
  EntryInfo entry{.name = "scale_float32",
                  .params = {{.bytes = 8}, {.bytes = 8}, {.bytes = 4}, {.bytes = 4}}};
  EXPECT_EQ(
      rules->check_entry(0, entry).error().message,
      "launches[0].args[2] \"i64:y.count\" has 8 bytes, the parameter 2 of scale_float32 has 4");
  entry.params.pop_back();
  EXPECT_EQ(rules->check_entry(0, entry).error().message,
            "launches[0] has 4 args, the entry scale_float32 takes 3");
}

TEST(Declarations, OfKernelsThatAreWrongSayWhatWasExpected) {
  KernelDeclaration one = plain();
  one.launches[0].args[0] = "z";
  EXPECT_EQ(
      problem(one),
      "launches[0].args[0]: \"z\" is neither an operand of scale (x, index, y) nor a value such as "
      "\"i32:y.count\"");
  one = plain();
  one.launches[0].args[0] = "workspace";
  EXPECT_NE(problem(one).find("the kernel declares no workspace"), std::string::npos);
  one.workspace = "y.bytes";
  EXPECT_EQ(problem(one), "");
  one = plain();
  one.launches[0].grid[0] = "y.counts";
  EXPECT_NE(problem(one).find("launches[0].grid: \"y.counts\""), std::string::npos) << problem(one);
  one = plain();
  one.launches.clear();
  EXPECT_EQ(problem(one), "0 launches, expected 1 to 6");
  one = plain();
  one.types = "Q: float32";
  EXPECT_NE(problem(one).find("expected a letter of the op's operands (TI)"), std::string::npos);
  one.types = "T: float33";
  EXPECT_EQ(problem(one), "types of T: the dtype 'float33' does not exist");
  one = plain();
  one.source = "no_such_file.cu";
  EXPECT_NE(problem(one), "");
  one.source = " \n";
  EXPECT_EQ(problem(one), "the source is empty");
}

}  // namespace
}  // namespace gpuemu
