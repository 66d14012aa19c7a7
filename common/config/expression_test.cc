// Expressions against written values, a second evaluator and random bytes.
#include "common/config/expression.h"

#include <random>

#include <gtest/gtest.h>

#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

const Scope kScope = {.integers = {{"rows", 3}, {"cols", 100}, {"zero", 0}, {"big", INT64_MAX}},
                      .reals = {{"scale", 0.5}},
                      .strings = {{"dtype", "float16"}},
                      .shapes = {{"x", {3, 100}}, {"huge", {INT64_MAX, 2}}},
                      .strides = {{"x", {104, 1}}}};

int64_t value(std::string_view text) {
  auto parsed = Expression::parse(text);
  if (!parsed) ADD_FAILURE() << parsed.error().message;
  if (!parsed) return INT64_MIN;
  auto result = parsed->evaluate(kScope);
  if (!result) ADD_FAILURE() << result.error().message;
  return result ? *result : INT64_MIN;
}

std::string message(std::string_view text) {
  auto parsed = Expression::parse(text);
  if (!parsed) return parsed.error().message;
  auto result = parsed->evaluate(kScope);
  return result ? "no error: " + std::to_string(*result) : result.error().message;
}

#define EXPECT_SAYS(text, part) \
  EXPECT_NE(message(text).find(part), std::string::npos) << message(text)

TEST(Expression, FollowsThePrecedenceOfC) {
  EXPECT_EQ(value("2 + 3 * 4"), 14);
  EXPECT_EQ(value("(2 + 3) * 4"), 20);
  EXPECT_EQ(value("20 / 3 % 4 - 1"), 1);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("1 + 1 < 3 && 2 > 1 || 0"), 1);
  EXPECT_EQ(value("0 && 0 || 1"), 1);
  EXPECT_EQ(value("1 || 0 && 0"), 1);
  EXPECT_EQ(value("-2 * -3"), 6);
  EXPECT_EQ(value("- - 2"), 2);
  EXPECT_EQ(value("!rows == zero"), 1);
}

TEST(Expression, ComparesNumbersAndText) {
  EXPECT_EQ(value("cols <= 100"), 1);
  EXPECT_EQ(value("cols >= 101"), 0);
  EXPECT_EQ(value("rows != 3"), 0);
  EXPECT_EQ(value("dtype == 'float16'"), 1);
  EXPECT_EQ(value("cols <= 4096 && dtype != 'float64'"), 1);
}

TEST(Expression, HasTheFunctionsOfTheDocument) {
  EXPECT_EQ(value("cdiv(100, 32)"), 4);
  EXPECT_EQ(value("cdiv(96, 32)"), 3);
  EXPECT_EQ(value("cdiv(-5, 2)"), -2);
  EXPECT_EQ(value("roundup(cols, 32)"), 128);
  EXPECT_EQ(value("min(1024, roundup(cols, 32))"), 128);
  EXPECT_EQ(value("max(1, 7, 3)"), 7);
  EXPECT_EQ(value("sizeof(dtype) * cols"), 200);
  EXPECT_EQ(value("sizeof('f64')"), 8);
  EXPECT_EQ(value("numel(x)"), 300);
  EXPECT_EQ(value("stride(x, 0)"), 104);
  EXPECT_EQ(value("stride(x, -1)"), 1);
}

TEST(Expression, DividesAsCudaDoes) {
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
  EXPECT_EQ(value("-9223372036854775808 % -1"), 0);
}

TEST(Expression, StopsAtTheSideThatDecides) {
  EXPECT_EQ(value("zero != 0 && cols / zero > 1"), 0);
  EXPECT_EQ(value("zero == 0 || cols / zero > 1"), 1);
}

TEST(Expression, NamesThePositionOfWhatCannotBeEvaluated) {
  EXPECT_SAYS("cols / zero", "expression 'cols / zero', column 6: division by zero");
  EXPECT_SAYS("cols % zero", "column 6: division by zero");
  EXPECT_SAYS("cdiv(1, zero)", "column 1: division by zero");
  EXPECT_SAYS("roundup(1, -4)", "column 1: the divisor -4 is negative");
  EXPECT_SAYS("1 + big", "column 3: the result overflows");
  EXPECT_SAYS("-2 - big", "overflows");
  EXPECT_SAYS("2 * big", "column 3: the result overflows");
  EXPECT_SAYS("-9223372036854775808 / -1", "overflows");
  EXPECT_SAYS("-(-9223372036854775808)", "overflows");
  EXPECT_SAYS("roundup(big, 2)", "overflows");
  EXPECT_SAYS("numel(huge)", "overflows");
  EXPECT_SAYS("1 + colls",
              "column 5: unknown name 'colls', known are big, cols, rows, zero, dtype; did you "
              "mean 'cols'?");
  EXPECT_SAYS("numel(y)", "column 1: unknown tensor 'y', known are huge, x");
  EXPECT_SAYS("stride(x, 2)", "axis 2 of tensor 'x', which has 2 dimensions");
  EXPECT_SAYS("stride(x, -3)", "axis -3");
  EXPECT_SAYS("1 + scale", "column 5: the real attr 'scale' is legal only as a whole");
  EXPECT_SAYS("1 + 0.5", "column 5: a fraction");
  EXPECT_SAYS("1 + 'a'", "column 5: text 'a' where a number is expected");
  EXPECT_SAYS("dtype == 1", "column 7: compares a number with text");
  EXPECT_SAYS("sizeof(rows)", "write sizeof(dtype)");
  EXPECT_SAYS("sizeof('halve')", "unknown dtype 'halve'");
}

TEST(Expression, IsRefusedForWhatIsWrongWhateverItsNamesMean) {
  const auto refusal = [](std::string_view text) {
    const auto parsed = Expression::parse(text);
    return parsed ? "none" : parsed.error().message;
  };
  EXPECT_EQ(refusal("'abc'"),
            "expression ''abc'', column 1: text 'abc' where a number is expected");
  EXPECT_EQ(refusal("rows < 'a'"),
            "expression 'rows < 'a'', column 8: text 'a' where a number is expected");
  EXPECT_EQ(refusal("1 + dtype"),
            "expression '1 + dtype', column 5: the name of a dtype where a number is expected; "
            "compare it, as in dtype == 'float32', or write sizeof(dtype)");
  EXPECT_NE(refusal("dtype == 'float99'").find("column 10: unknown dtype 'float99'"),
            std::string::npos);
  EXPECT_EQ(refusal("dtype != 'f32'"),
            "expression 'dtype != 'f32'', column 10: dtype is 'float32' then, never 'f32'");
  EXPECT_EQ(refusal("rows / 0"), "expression 'rows / 0', column 6: division by zero");
  EXPECT_EQ(refusal("cdiv(rows, 0)"), "expression 'cdiv(rows, 0)', column 1: division by zero");
  EXPECT_EQ(refusal("rows != 0 && cols / rows > 1"), "none");
}

TEST(Expression, NamesThePositionOfWhatCannotBeParsed) {
  EXPECT_SAYS("", "column 1: it ends too early");
  EXPECT_SAYS("1 +", "column 4: it ends too early");
  EXPECT_SAYS("(1 + 2", "column 7: it ends too early, expected ')'");
  EXPECT_SAYS("1 2", "column 3: unexpected '2', expected an operator");
  EXPECT_SAYS("a = b", "column 3: unexpected '='; equality is '=='");
  EXPECT_SAYS("a & b", "logic is '&&'");
  EXPECT_SAYS("1 < 2 < 3", "column 7: comparisons cannot be chained");
  EXPECT_SAYS("9223372036854775808", "does not fit 64 bits");
  EXPECT_SAYS("12ab", "column 3: unexpected 'a' inside a number");
  EXPECT_SAYS("1e+", "exponent");
  EXPECT_SAYS("'abc", "column 1: text without a closing '");
  EXPECT_SAYS("min(1)", "column 1: 1 argument for min, write min(a, b)");
  EXPECT_SAYS("cdiv(1, 2, 3)", "3 arguments for cdiv");
  EXPECT_SAYS("numel()", "0 arguments for numel");
  EXPECT_SAYS("numel(3)", "column 7: unexpected '3', expected the name of a tensor");
  EXPECT_SAYS("ciel(1, 2)", "column 1: unknown function 'ciel'");
  EXPECT_SAYS("cidv(1, 2)", "did you mean 'cdiv'?");
  EXPECT_SAYS("\xff", "unexpected byte 0xff");
}

TEST(Expression, RefusesDeepNestingAndLongTextInsteadOfOverflowingTheStack) {
  EXPECT_EQ(value(std::string(60, '(') + "1" + std::string(60, ')')), 1);
  EXPECT_SAYS(std::string(65, '(') + "1" + std::string(65, ')'), "64 levels");
  EXPECT_SAYS(std::string(3000, '-') + "1", "64 levels");
  EXPECT_SAYS(std::string(5000, '1'), "the limit is 4096");
  std::string chain = "1";
  for (int i = 0; i < 999; ++i) chain += "+1";
  EXPECT_EQ(value(chain), 1000);
  EXPECT_SAYS(chain + "+1", "more than 1000 operands");
}

TEST(Expression, EvaluatesRealsOnlyAsAWhole) {
  const auto real = [](std::string_view text) {
    return *Expression::parse(text)->evaluate_real(kScope);
  };
  EXPECT_EQ(real("scale"), 0.5);
  EXPECT_EQ(real("-scale"), -0.5);
  EXPECT_EQ(real("0.25"), 0.25);
  EXPECT_EQ(real("-1e-3"), -1e-3);
  EXPECT_EQ(real("cols / 3"), 33.0);
  EXPECT_FALSE(Expression::parse("scale * 2")->evaluate_real(kScope));
}

TEST(Expression, TellsWhatItUses) {
  const auto e =
      *Expression::parse("min(rows, 2) * stride(x, axis) + numel(y) * rows * sizeof(dtype)");
  EXPECT_EQ(e.names(), (std::vector<std::string>{"rows", "axis"}));
  ASSERT_EQ(e.stride_uses().size(), 1u);
  EXPECT_EQ(e.stride_uses()[0].tensor, "x");
  EXPECT_FALSE(e.stride_uses()[0].axis);
  EXPECT_EQ(Expression::parse("2 * stride(x, -1)")->stride_uses()[0].axis, -1);
  ASSERT_EQ(e.tensor_uses().size(), 2u);
  EXPECT_EQ(e.tensor_uses()[1].name, "y");
  EXPECT_EQ(e.name_uses()[0].column, 5u);
}

TEST(Expression, ANegativeSizeIsAnErrorThatNamesThePosition) {
  EXPECT_EQ(*Expression::parse("rows - 3")->evaluate_size(kScope),
            *Expression::parse("rows - 3")->evaluate(kScope));
  const auto size = Expression::parse("3 - rows * 900")->evaluate_size(kScope);
  ASSERT_FALSE(size);
  EXPECT_NE(size.error().message.find("expression '3 - rows * 900', column 3: -"),
            std::string::npos)
      << size.error().message;
  EXPECT_NE(size.error().message.find("negative"), std::string::npos);
}

TEST(Expression, AConstantPrintsAndEvaluatesAsItself) {
  for (const int64_t v : {int64_t{0}, int64_t{-5}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(*Expression::constant(v).evaluate({}), v);
    EXPECT_EQ(value(Expression::constant(v).text()), v);
  }
}

TEST(Expression, WithoutTextIsAnErrorNotACrash) {
  EXPECT_FALSE(Expression().evaluate({}));
  EXPECT_FALSE(Expression().evaluate_real({}));
  EXPECT_TRUE(Expression().names().empty());
}

// A second evaluator: builds text and value together, in 128 bits, and detects when there is no
// value.
__extension__ typedef __int128 Wide;

struct Sample {
  std::string text;
  std::optional<Wide> value;
};

Sample random_sample(std::mt19937_64& rng, int depth) {
  if (depth == 0 || rng() % 4 == 0) {
    const auto v = static_cast<int64_t>(rng() % 7) - 1;
    if (rng() % 3 == 0) return {"rows", 3};
    if (rng() % 20 == 0) return {"big", INT64_MAX};
    return {std::to_string(v), v};
  }
  const Sample a = random_sample(rng, depth - 1), b = random_sample(rng, depth - 1);
  Sample out;
  const bool both = a.value && b.value;
  const auto x = a.value.value_or(0), y = b.value.value_or(0);
  const auto set = [&](bool legal, Wide v) {
    if (both && legal && v >= INT64_MIN && v <= INT64_MAX) out.value = v;
  };
  switch (rng() % 9) {
    case 0:
      out.text = "(" + a.text + "+" + b.text + ")";
      set(true, x + y);
      break;
    case 1:
      out.text = "(" + a.text + " - " + b.text + ")";
      set(true, x - y);
      break;
    case 2:
      out.text = "(" + a.text + "*" + b.text + ")";
      set(true, x * y);
      break;
    case 3:
      out.text = "(" + a.text + "/" + b.text + ")";
      set(y != 0, y == 0 ? 0 : x / y);
      break;
    case 4:
      out.text = "(" + a.text + "%" + b.text + ")";
      set(y != 0, y == 0 ? 0 : x % y);
      break;
    case 5:
      out.text = "min(" + a.text + "," + b.text + ")";
      set(true, x < y ? x : y);
      break;
    case 6:
      out.text = "(" + a.text + "<=" + b.text + ")";
      set(true, x <= y ? 1 : 0);
      break;
    case 7:
      out.text = "(" + a.text + "==" + b.text + ")";
      set(true, x == y ? 1 : 0);
      break;
    default:
      out.text = "max(" + a.text + ", " + b.text + ")";
      set(true, x > y ? x : y);
      break;
  }
  return out;
}

TEST(Expression, AgreesWithASecondEvaluatorOnRandomTrees) {
  std::mt19937_64 rng(20240517);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    const Sample sample = random_sample(rng, 5);
    const auto parsed = Expression::parse(sample.text);  // Refuses a division by 0.
    const auto result = parsed ? parsed->evaluate(kScope) : Result<int64_t>(parsed.error());
    ASSERT_EQ(result.ok(), sample.value.has_value()) << sample.text;
    if (result) {
      EXPECT_EQ(*result, static_cast<int64_t>(*sample.value)) << sample.text;
    }
    refused += result ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
}

TEST(Expression, SurvivesRandomBytes) {
  std::mt19937_64 rng(7);
  const std::string alphabet = "0129()+-*/%<>=!&|', .abexymincdvsrtouplzfg\"\\\xff\n";
  for (int i = 0; i < 20000; ++i) {
    std::string text(rng() % 40, ' ');
    for (char& c : text) c = alphabet[rng() % alphabet.size()];
    if (auto parsed = Expression::parse(text)) (void)parsed->evaluate(kScope);
  }
}

TEST(Nearest, FindsOneMistakeAndLeavesOtherWordsAlone) {
  EXPECT_EQ(edit_distance("kernle", "kernel"), 1u);
  EXPECT_EQ(nearest("tolerence", {"tolerances", "reference"}), "tolerances");
  EXPECT_EQ(nearest("zebra", {"name", "kernel"}), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
  EXPECT_EQ(did_you_mean("refrence", {"reference"}), "; did you mean 'reference'?");
}

}  // namespace
}  // namespace gpuemu
