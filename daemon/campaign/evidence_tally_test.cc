// Tests the sums of evidence, and when passing cases count as compared exactly.
#include "daemon/campaign/evidence_tally.h"

#include <cstring>

#include <gtest/gtest.h>

#include "judge/bounds/exact_sums.h"

namespace gpuemu {
namespace {

CaseReport passing(std::initializer_list<TrivialOutput> trivial, bool is_copy = false) {
  CaseReport outcome;
  TrivialOutputs& trivial_outputs = outcome.extras.evidence.emplace().trivial_outputs;
  for (const TrivialOutput one : trivial) trivial_outputs.set(one);
  trivial_outputs.first_input_is_answer = is_copy;
  return outcome;
}

TEST(EvidenceTally, CountsCasesThatATrivialOutputPassesAsNothing) {
  EvidenceTally tally;
  for (int i = 0; i < 30; ++i) tally.add(passing({}), "normal");
  tally.add(passing({TrivialOutput::Zeros, TrivialOutput::RowMean}), "zeros");
  tally.add(passing({TrivialOutput::Zeros}), "zeros");
  const auto evidence = tally.evidence(DType::Float16);
  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence->dtype, DType::Float16);
  EXPECT_EQ(evidence->judged, 32u);
  EXPECT_EQ(evidence->telling, 30u);
  EXPECT_EQ(evidence->trivial, (std::map<std::string, uint64_t>{{"zeros", 2}, {"row_mean", 1}}));
  EXPECT_EQ(evidence->strategies, (std::map<std::string, uint64_t>{{"normal", 30}}));
  EXPECT_DOUBLE_EQ(*evidence->failure_limit, 0.1);
}

TEST(EvidenceTally, ACopyIsNoTrivialOutputOfAnOpThatCopies) {
  EvidenceTally copy, relu;
  for (int i = 0; i < 4; ++i) copy.add(passing({TrivialOutput::FirstInput}, true), "normal");
  EXPECT_EQ(copy.evidence(DType::Float32)->telling, 4u);
  relu.add(passing({TrivialOutput::FirstInput}, true), "all_pos");
  relu.add(passing({}), "normal");
  EXPECT_EQ(relu.evidence(DType::Float32)->telling, 1u);
}

TEST(EvidenceTally, NothingIsClaimedBesideAFailureOrWithoutCases) {
  EvidenceTally tally;
  EXPECT_FALSE(tally.evidence(DType::Float32));
  CaseReport failing;
  failing.result.passed = false;
  tally.add(failing, "normal");
  EXPECT_FALSE(tally.evidence(DType::Float32));
  tally.add(passing({}), "normal");
  EXPECT_FALSE(tally.evidence(DType::Float32)->failure_limit);
  EvidenceTally blind;
  blind.add(passing({TrivialOutput::Zeros}), "normal");
  EXPECT_EQ(*blind.evidence(DType::Float32)->failure_limit, 1);
}

/// A float32 row of whole numbers and its exact sum.
class Sum {
 public:
  explicit Sum(const std::vector<float>& values)
      : row_(make_tensor(DType::Float32, {static_cast<int64_t>(values.size())})),
        sum_(make_tensor(DType::Float64, {})) {
    std::memcpy(row_.data.data(), values.data(), row_.data.size());
    double total = 0;
    for (const float value : values) total += static_cast<double>(value);
    std::memcpy(sum_.data.data(), &total, sizeof total);
    inputs_["x"] = view_of(row_);
    op.error_scale = ErrorScale::Sum;
  }
  bool exact(DType output = DType::Float32) const {
    const auto terms = element_count(row_.shape);
    return compares_exactly({op, plan, terms, inputs_}, view_of(sum_), output);
  }

  OpConfig op;
  CasePlan plan;

 private:
  Tensor row_, sum_;
  std::map<std::string, TensorView> inputs_;
};

TEST(ExactTier, SumsOfSmallWholeNumbersAreExact) {
  EXPECT_TRUE(Sum({1, -2, 3}).exact());
  EXPECT_TRUE(Sum({1, -2, 3}).exact(DType::Float16));
  EXPECT_FALSE(Sum({1, 0.5F, 3}).exact());
  EXPECT_FALSE(Sum({1, -2, 3}).exact(DType::Int32));
}

TEST(ExactTier, NotWhereAPartialSumOrTheResultNeedsMoreBits) {
  EXPECT_TRUE(Sum({1024, 1024}).exact());
  EXPECT_FALSE(Sum({8192, 8192}).exact());
  EXPECT_FALSE(Sum({2048, 1, 1}).exact(DType::Float16));
  Sum half({30, 30, 30});
  EXPECT_TRUE(half.exact(DType::Float16));
  half.op.accumulate_dtype = DType::Float16;
  EXPECT_FALSE(half.exact(DType::Float16));
}

TEST(ExactTier, OnlyForOpsThatAddAndMultiplyAndSayingNoWins) {
  Sum sum({1, 2});
  sum.op.error_scale = ErrorScale::Softmax;
  EXPECT_FALSE(sum.exact());
  sum.op.exact = true;
  EXPECT_TRUE(sum.exact());
  sum.op.error_scale = ErrorScale::Sum;
  sum.op.exact = false;
  EXPECT_FALSE(sum.exact());
}

TEST(ExactTier, NotWithAFactorThatIsRounded) {
  Sum sum({1, 2});
  sum.plan.attrs["alpha"] = 0.5;
  EXPECT_TRUE(sum.exact());
  sum.plan.attrs["alpha"] = 0.1;
  EXPECT_FALSE(sum.exact());
}

}  // namespace
}  // namespace gpuemu
