// Tests the values of expressions, and the errors in wrong ones.
#include "ops/registered/expression.h"

#include <gtest/gtest.h>

#include "runtime/device/device.h"

namespace gpuemu {
namespace {

class Expressions : public testing::Test {
 protected:
  Expressions() {
    op_ = {.name = "scale", .summary = "", .inputs = {{"x"}, {"w"}}, .outputs = {{"y"}}};
    op_.schema = {.number = 9,
                  .fields = {{.name = "k", .type = AttributeType::Int32, .fallback = 3},
                             {.name = "eps", .type = AttributeType::Float32, .fallback = 0.5}}};
  }
  OpCase the_case() { return {op_, inputs_, outputs_, Attributes(op_.schema, {}), device_}; }
  int64_t whole(const std::string& text) {
    const auto parsed = Expression::parse(text, op_, op_.schema);
    EXPECT_TRUE(parsed) << parsed.error().message;
    const auto value = parsed->whole(the_case());
    EXPECT_TRUE(value) << value.error().message;
    return value ? *value : -999;
  }
  std::string problem(const std::string& text) {
    const auto parsed = Expression::parse(text, op_, op_.schema);
    if (!parsed) return parsed.error().message;
    const auto value = parsed->whole(the_case());
    return value ? "" : value.error().message;
  }

  OpKind op_;
  DeviceProperties device_{.sm = 90};
  std::vector<int64_t> shape_ = {4, 6}, strides_ = {6, 1}, scalar_ = {};
  std::vector<DeviceTensor> inputs_ = {
      {.dtype = DType::Float16, .shape = shape_, .strides = strides_},
      {.dtype = DType::Float32, .shape = scalar_, .strides = scalar_}};
  std::vector<DeviceTensor> outputs_ = {
      {.dtype = DType::Float64, .shape = shape_, .strides = strides_}};
};

TEST_F(Expressions, AreWorthWhatPythonSays) {
  EXPECT_EQ(whole("x.count"), 24);
  EXPECT_EQ(whole("x.bytes + y.bytes + w.bytes"), 24 * 2 + 24 * 8 + 4);
  EXPECT_EQ(whole("x.rank * 10 + w.rank"), 20);
  EXPECT_EQ(whole("x.shape[-1] * 100 + x.shape[0] * 10 + x.strides[0]"), 646);
  EXPECT_EQ(whole("cdiv(x.count, 7)"), 4);
  EXPECT_EQ(whole("-7 // 2"), -4);
  EXPECT_EQ(whole("-7 % 3"), 2);
  EXPECT_EQ(whole("7 // -2"), -4);
  EXPECT_EQ(whole("2 + 3 * 4 - 1"), 13);
  EXPECT_EQ(whole("(2 + 3) * 4"), 20);
  EXPECT_EQ(whole("max(1, min(x.count, 5, 9), k)"), 5);
  EXPECT_EQ(whole("sm >= 80 and not k == 4 or 0"), 1);
  EXPECT_EQ(whole("eps < 1"), 1);
  EXPECT_EQ(whole("- -k"), 3);
  EXPECT_EQ(whole("x.count == 0 or 10 // x.count == 0"), 1);
  EXPECT_EQ(whole("w.rank == 0 or w.shape[0] == 1"), 1) << "the right side is not looked at";
}

TEST_F(Expressions, SayWhatIsWrongAndWhere) {
  EXPECT_EQ(problem("x.count +"),
            "\"x.count +\", column 10: expected a number, an operand or an attribute");
  EXPECT_EQ(problem("z.count"),
            "\"z.count\", column 1: 'z' is not an operand; there are: eps, k, sm, w.count, "
            "x.count, y.count");
  EXPECT_EQ(problem("n"),
            "\"n\", column 1: 'n' is unknown; there are: eps, k, sm, w.count, x.count, y.count");
  EXPECT_EQ(problem("x.size"),
            "\"x.size\", column 7: 'x.size' is unknown, expected count, rank, bytes, shape[i] or "
            "strides[i]");
  EXPECT_EQ(problem("x.count / 2"),
            "\"x.count / 2\", column 10: '/' does not exist here: '//' divides whole numbers");
  EXPECT_EQ(problem("1 < k < 4"),
            "\"1 < k < 4\", column 8: one comparison at a time: join them with 'and'");
  EXPECT_EQ(problem("k // (k - 3)"), "\"k // (k - 3)\": it divides by 0");
  EXPECT_EQ(problem("x.shape[2]"), "\"x.shape[2]\": axis 2 does not exist in the shape [4, 6]");
  EXPECT_EQ(problem("eps"), "\"eps\": it is 0.5, expected a whole number");
  EXPECT_EQ(problem("9223372036854775807 + k"),
            "\"9223372036854775807 + k\": it does not fit 64 bits, with 9223372036854775807 and 3");
  EXPECT_EQ(problem("k k"), "\"k k\", column 3: expected an operator or the end");
  EXPECT_NE(
      problem(std::string(100, '(') + "1" + std::string(100, ')')).find("deeper than 40 levels"),
      std::string::npos);
  EXPECT_NE(problem(std::string(2000, '1')).find("at most 1000"), std::string::npos);
  EXPECT_EQ(problem("cdiv(1)"), "\"cdiv(1)\", column 8: 1 values, expected 2");
}

}  // namespace
}  // namespace gpuemu
