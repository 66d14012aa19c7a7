// Tests which trivial outputs a case would have accepted.
#include "judge/verdict/trivial_outputs.h"

#include <gtest/gtest.h>

#include "judge/bounds/test_values.h"

namespace gpuemu {
namespace {

/// A comparison of an output with itself as reference, in float32.
class Case {
 public:
  Case(Shape shape, const std::vector<float>& reference, const std::vector<float>& input = {})
      : reference_(make_tensor(DType::Float32, shape)), input_(reference_) {
    if (!reference.empty()) {
      std::memcpy(reference_.data.data(), reference.data(), reference_.data.size());
    }
    comparison.output = comparison.reference = view_of(reference_);
    comparison.policy.nan_policy = NanPolicy::Match;
    comparison.policy.tolerance = {.atol = 1e-5, .rtol = 1e-5};
    if (input.empty()) return;
    std::memcpy(input_.data.data(), input.data(), input_.data.size());
    comparison.inputs["x"] = view_of(input_);
    comparison.reference_input.push_back('x');
  }
  TrivialOutputs trivial_outputs() const { return find_trivial_outputs(comparison); }

  Comparison comparison;

 private:
  Tensor reference_, input_;
};

TEST(TrivialOutputs, OrdinaryValuesRefuseEveryTrivialOutput) {
  const Case some({2, 3}, {1, 2, 3, 4, 5, 7}, {3, 1, 2, 9, 8, 7});
  EXPECT_EQ(some.trivial_outputs().passing, 0u);
}

TEST(TrivialOutputs, ZerosPassWhereTheAnswerIsZero) {
  const TrivialOutputs trivial_outputs =
      Case({2, 2}, {0, 0, 0, 0}, {-1, -2, -3, -4}).trivial_outputs();
  EXPECT_TRUE(trivial_outputs.passes(TrivialOutput::Zeros));
  EXPECT_TRUE(trivial_outputs.passes(TrivialOutput::RowMean));
  EXPECT_TRUE(trivial_outputs.passes(TrivialOutput::OtherRow));
  EXPECT_FALSE(trivial_outputs.passes(TrivialOutput::FirstInput));
  EXPECT_FALSE(trivial_outputs.passes(TrivialOutput::WrongRow));
}

TEST(TrivialOutputs, TheFirstInputPassesAReluOfPositiveNumbersAndIsItsAnswer) {
  const TrivialOutputs trivial_outputs = Case({1, 3}, {1, 2, 3}, {1, 2, 3}).trivial_outputs();
  EXPECT_TRUE(trivial_outputs.passes(TrivialOutput::FirstInput));
  EXPECT_TRUE(trivial_outputs.first_input_is_answer);
  Case near({1, 2}, {1, 2}, {1.000001F, 2});
  EXPECT_TRUE(near.trivial_outputs().passes(TrivialOutput::FirstInput));
  EXPECT_FALSE(near.trivial_outputs().first_input_is_answer);
}

TEST(TrivialOutputs, OneOverNPassesTheSoftmaxOfAConstant) {
  const TrivialOutputs trivial_outputs =
      Case({2, 4}, std::vector<float>(8, 0.25F)).trivial_outputs();
  EXPECT_TRUE(trivial_outputs.passes(TrivialOutput::OneOverN) &&
              trivial_outputs.passes(TrivialOutput::RowMean));
  EXPECT_FALSE(trivial_outputs.passes(TrivialOutput::Zeros));
}

TEST(TrivialOutputs, ALooseToleranceLetsEverythingThrough) {
  Case some({2, 3}, {1, 2, 3, 4, 5, 7}, {3, 1, 2, 9, 8, 7});
  some.comparison.policy.tolerance.atol = 100;
  EXPECT_EQ(some.trivial_outputs().passing, (1U << kTrivialCount) - 1);
}

TEST(TrivialOutputs, AnInvariantCanBeWhatRefusesATrivialOutput) {
  Case some({1, 4}, {0.1F, 0.2F, 0.3F, 0.4F});
  some.comparison.policy.tolerance.atol = 1;
  some.comparison.policy.invariants = {{InvariantKind::SumsToOne, {}, {}}};
  const TrivialOutputs trivial_outputs = some.trivial_outputs();
  EXPECT_FALSE(trivial_outputs.passes(TrivialOutput::Zeros));
  EXPECT_TRUE(trivial_outputs.passes(TrivialOutput::RowMean));  // It sums to one as well.
}

TEST(TrivialOutputs, WhereAnythingMayStandForNanOneWrongRowIsNotSeen) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Case some({2, 2}, {1, 2, nan, nan});
  some.comparison.policy.nan_policy = NanPolicy::Any;
  const TrivialOutputs trivial_outputs = some.trivial_outputs();
  EXPECT_TRUE(trivial_outputs.passes(TrivialOutput::WrongRow));
  EXPECT_FALSE(trivial_outputs.passes(TrivialOutput::WrongColumn));
  EXPECT_FALSE(trivial_outputs.passes(TrivialOutput::Zeros));
}

TEST(TrivialOutputs, AnEmptyOutputProvesNothing) {
  EXPECT_TRUE(Case({0, 3}, {}).trivial_outputs().passes(TrivialOutput::Zeros));
}

TEST(TrivialOutputs, OfSeveralOutputsATrivialKernelMustPassAllAndAWrongLineOne) {
  TrivialOutputs first, second;
  first.set(TrivialOutput::Zeros);
  first.set(TrivialOutput::WrongRow);
  second.set(TrivialOutput::RowMean);
  first.join(second);
  EXPECT_FALSE(first.passes(TrivialOutput::Zeros) || first.passes(TrivialOutput::RowMean));
  EXPECT_TRUE(first.passes(TrivialOutput::WrongRow));
}

TEST(TrivialOutputs, IntegersAreJudgedAsIntegers) {
  Tensor whole = make_tensor(DType::Int32, {1, 3});
  const int32_t values[] = {2, 2, 3};
  std::memcpy(whole.data.data(), values, sizeof values);
  Comparison comparison;
  comparison.output = comparison.reference = view_of(whole);
  EXPECT_EQ(find_trivial_outputs(comparison).passing, 0u);
  comparison.policy.tolerance.atol = 1;
  EXPECT_TRUE(find_trivial_outputs(comparison).passes(TrivialOutput::RowMean));
}

}  // namespace
}  // namespace gpuemu
