// What a case would have let through.
#include "judge/verdict/power.h"

#include <gtest/gtest.h>

#include "judge/verdict/test_values.h"

namespace gpuemu {
namespace {

/// A comparison of an output with itself as reference, in float32.
class Case {
 public:
  Case(Shape shape, const std::vector<float>& reference, const std::vector<float>& input = {})
      : reference_(make_tensor(DType::Float32, shape)), input_(reference_) {
    if (!reference.empty())
      std::memcpy(reference_.data.data(), reference.data(), reference_.data.size());
    comparison.output = comparison.reference = view_of(reference_);
    comparison.policy.nan_policy = NanPolicy::Match;
    comparison.policy.tolerance = {.atol = 1e-5, .rtol = 1e-5};
    if (input.empty()) return;
    std::memcpy(input_.data.data(), input.data(), input_.data.size());
    comparison.inputs["x"] = view_of(input_);
    comparison.first_input.push_back('x');
  }
  Power power() const { return power_of(comparison); }

  Comparison comparison;

 private:
  Tensor reference_, input_;
};

TEST(Power, OrdinaryValuesRefuseEveryTrivialOutput) {
  const Case some({2, 3}, {1, 2, 3, 4, 5, 7}, {3, 1, 2, 9, 8, 7});
  EXPECT_EQ(some.power().passing, 0u);
}

TEST(Power, ZerosPassWhereTheAnswerIsZero) {
  const Power power = Case({2, 2}, {0, 0, 0, 0}, {-1, -2, -3, -4}).power();
  EXPECT_TRUE(power.passes(Trivial::Zeros));
  EXPECT_TRUE(power.passes(Trivial::RowMean));
  EXPECT_TRUE(power.passes(Trivial::OtherRow));
  EXPECT_FALSE(power.passes(Trivial::FirstInput));
  EXPECT_FALSE(power.passes(Trivial::WrongRow));
}

TEST(Power, TheFirstInputPassesAReluOfPositiveNumbersAndIsItsAnswer) {
  const Power power = Case({1, 3}, {1, 2, 3}, {1, 2, 3}).power();
  EXPECT_TRUE(power.passes(Trivial::FirstInput));
  EXPECT_TRUE(power.first_input_is_answer);
  Case near({1, 2}, {1, 2}, {1.000001F, 2});
  EXPECT_TRUE(near.power().passes(Trivial::FirstInput));
  EXPECT_FALSE(near.power().first_input_is_answer);
}

TEST(Power, OneOverNPassesTheSoftmaxOfAConstant) {
  const Power power = Case({2, 4}, std::vector<float>(8, 0.25F)).power();
  EXPECT_TRUE(power.passes(Trivial::OneOverN) && power.passes(Trivial::RowMean));
  EXPECT_FALSE(power.passes(Trivial::Zeros));
}

TEST(Power, ALooseToleranceLetsEverythingThrough) {
  Case some({2, 3}, {1, 2, 3, 4, 5, 7}, {3, 1, 2, 9, 8, 7});
  some.comparison.policy.tolerance.atol = 100;
  EXPECT_EQ(some.power().passing, (1U << kTrivialCount) - 1);
}

TEST(Power, AnInvariantCanBeWhatRefusesATrivialOutput) {
  Case some({1, 4}, {0.1F, 0.2F, 0.3F, 0.4F});
  some.comparison.policy.tolerance.atol = 1;
  some.comparison.policy.invariants = {{"sums_to_one", {}, {}}};
  const Power power = some.power();
  EXPECT_FALSE(power.passes(Trivial::Zeros));
  EXPECT_TRUE(power.passes(Trivial::RowMean));  // It sums to one as well.
}

TEST(Power, WhereAnythingMayStandForNanOneWrongRowIsNotSeen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Case some({2, 2}, {1, 2, nan, nan});
  some.comparison.policy.nan_policy = NanPolicy::Any;
  const Power power = some.power();
  EXPECT_TRUE(power.passes(Trivial::WrongRow));
  EXPECT_FALSE(power.passes(Trivial::WrongColumn));
  EXPECT_FALSE(power.passes(Trivial::Zeros));
}

TEST(Power, AnEmptyOutputProvesNothing) {
  EXPECT_TRUE(Case({0, 3}, {}).power().passes(Trivial::Zeros));
}

TEST(Power, OfSeveralOutputsATrivialKernelMustPassAllAndAWrongLineOne) {
  Power first, second;
  first.set(Trivial::Zeros);
  first.set(Trivial::WrongRow);
  second.set(Trivial::RowMean);
  first.join(second);
  EXPECT_FALSE(first.passes(Trivial::Zeros) || first.passes(Trivial::RowMean));
  EXPECT_TRUE(first.passes(Trivial::WrongRow));
}

TEST(Power, IntegersAreJudgedAsIntegers) {
  Tensor whole = make_tensor(DType::Int32, {1, 3});
  const int32_t values[] = {2, 2, 3};
  std::memcpy(whole.data.data(), values, sizeof values);
  Comparison comparison;
  comparison.output = comparison.reference = view_of(whole);
  EXPECT_EQ(power_of(comparison).passing, 0u);
  comparison.policy.tolerance.atol = 1;
  EXPECT_TRUE(power_of(comparison).passes(Trivial::RowMean));
}

}  // namespace
}  // namespace gpuemu
