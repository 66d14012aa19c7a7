#include "judge/bounds/undefined_integers.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

constexpr int64_t kIndefinite = std::numeric_limits<int64_t>::min();

/// Two rows of three integers, with a float per row.
struct Case {
  std::vector<int32_t> output = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> reference = {1, 2, 3, 4, 5, 6};
  std::vector<float> input = {0, 1, NAN};
  std::vector<double> rows = {1, 2};
  bool has_to_match = true;

  Comparison comparison() const {
    Comparison made;
    made.output_name = "q";
    made.output = {DType::Int32, {2, 3}, std::as_bytes(std::span(output))};
    made.reference = {DType::Int64, {2, 3}, std::as_bytes(std::span(reference))};
    made.reference_is_wide = true;
    made.inputs["x"] = {DType::Float32, {3}, std::as_bytes(std::span(input))};
    return made;
  }
  UndefinedIntegers undefined() const {
    return undefined_integers(comparison(),
                              {{"scale", {DType::Float64, {2}, std::as_bytes(std::span(rows))}}},
                              has_to_match);
  }
};

using Mask = std::vector<uint8_t>;

TEST(UndefinedIntegers, AreThoseThatNumPyMakesOfANan) {
  Case one;
  one.reference[1] = kIndefinite;
  EXPECT_EQ(one.undefined().mask, (Mask{0, 1, 0, 0, 0, 0}));
}

TEST(UndefinedIntegers, NeedANanOrAnInfinityInTheInputs) {
  Case one;
  one.reference[1] = kIndefinite;
  one.input = {0, 1, 2};
  EXPECT_TRUE(one.undefined().mask.empty());
}

TEST(UndefinedIntegers, BelongToAFloatThatIsNoneWhereNanNeedNotMatch) {
  Case one;
  one.rows[1] = NAN;
  one.has_to_match = false;
  EXPECT_EQ(one.undefined().mask, (Mask{0, 0, 0, 1, 1, 1}));
  EXPECT_TRUE(one.undefined().hint.empty());
}

TEST(UndefinedIntegers, AreComparedWhereNanHasToMatchAndTheHintSaysWhy) {
  Case one;
  one.rows[1] = NAN;
  EXPECT_TRUE(one.undefined().mask.empty());
  EXPECT_NE(
      one.undefined().hint.find("element 3 is an integer made of 'scale', which is nan there"),
      std::string::npos)
      << one.undefined().hint;
}

TEST(UndefinedIntegers, AreNotComparedAndTheOthersAre) {
  Case one;
  one.reference[1] = kIndefinite;
  const UndefinedIntegers undefined = one.undefined();
  Comparison comparison = one.comparison();
  comparison.undefined = undefined.mask;
  EXPECT_TRUE(validate(comparison).failures.empty());
  one.output[4] = 7;
  comparison = one.comparison();
  comparison.undefined = undefined.mask;
  ASSERT_EQ(validate(comparison).failures.size(), 1u);
  EXPECT_EQ(validate(comparison).failures[0].index, 4);
}

}  // namespace
}  // namespace gpuemu
