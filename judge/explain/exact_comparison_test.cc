#include "judge/explain/exact_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "judge/bounds/comparison.h"
#include "judge/explain/shadow_options.h"

namespace gpuemu {
namespace {

/// One float32 output compared with a float64 reference, absolute tolerance 0.001.
struct Case {
  std::vector<float> computed;
  std::vector<double> reference;
  std::vector<ElementShadow> shadows;

  ComparedShadow compare(const ShadowOptions& options = {}) const {
    Comparison comparison;
    comparison.output_name = "y";
    const auto count = static_cast<int64_t>(computed.size());
    comparison.output = {DType::Float32, {count}, std::as_bytes(std::span(computed))};
    comparison.reference = {DType::Float64, {count}, std::as_bytes(std::span(reference))};
    comparison.reference_is_wide = true;
    comparison.policy.tolerance = {.atol = 1e-3, .rtol = 0};
    return compare_shadow(comparison, shadows, options);
  }
  ExplainVerdict verdict() const { return compare().worst.value_or(WrongElement{}).verdict; }
};

ElementShadow exactly(double value, double bound = 0) { return {value, 0, bound, 0, 1}; }

TEST(Explain, CallsAFormulaThatGivesSomethingElseLogic) {
  EXPECT_EQ((Case{{2.0F}, {1.0}, {exactly(2.0)}}).verdict(), ExplainVerdict::Logic);
}

TEST(Explain, CallsARightFormulaWithWrongDigitsNumerical) {
  EXPECT_EQ((Case{{2.0F}, {1.0}, {exactly(1.0, 2.0)}}).verdict(), ExplainVerdict::Numerical);
}

TEST(Explain, CallsAValueAsExactAsItsTypeAllowsRounding) {
  EXPECT_EQ((Case{{100000.007812F}, {100000.005}, {exactly(100000.005)}}).verdict(),
            ExplainVerdict::Rounding);
}

TEST(Explain, CallsAValueThatNoFloatInstructionMadeLogic) {
  EXPECT_EQ((Case{{2.0F}, {1.0}, {ElementShadow{}}}).verdict(), ExplainVerdict::Logic);
}

TEST(Explain, CallsAnOverflowOfAFiniteValueNumerical) {
  EXPECT_EQ((Case{{INFINITY}, {1.0}, {exactly(1.0)}}).verdict(), ExplainVerdict::Numerical);
}

TEST(Explain, AsksTheHistoryWhereTheExactValueOverflowsToo) {
  WrongElement element = *(Case{{NAN}, {0.25}, {exactly(NAN)}}).compare().worst;
  EXPECT_EQ(element.verdict, ExplainVerdict::Unknown);
  ExecutionShadow history;
  EXPECT_EQ(with_history(element, history), ExplainVerdict::Unknown);
  history.origin.push_back({.kind = ShadowStep::Kind::Overflows});
  history.origin.front().operands = {{"%f1", 1000, 1000, 0}};
  EXPECT_EQ(with_history(element, history), ExplainVerdict::Numerical);
  history.origin.front().operands.push_back({"%f2", 0, 0, 0});
  EXPECT_EQ(with_history(element, history), ExplainVerdict::Logic);
  history.origin.front().operands.clear();
  history.origin.front().result = {"%f3", NAN, NAN, 0};
  EXPECT_EQ(with_history(element, history), ExplainVerdict::Logic);
  history.origin.front().result = {"%f3", INFINITY, INFINITY, 0};
  EXPECT_EQ(with_history(element, history), ExplainVerdict::Numerical);
  history.origin.front().instruction = "div.rn.f32 %f3, %f2, 0f00000000";
  EXPECT_EQ(with_history(element, history), ExplainVerdict::Logic);
}

TEST(Explain, HasABoundForTheOtherSidesWhereTheReferenceIsNotFinite) {
  // Without any, an output and its exact value would count as two votes.
  EXPECT_DOUBLE_EQ((Case{{2.0F}, {NAN}, {exactly(2.0)}}).compare().worst->tolerance, 1e-3);
  EXPECT_DOUBLE_EQ((Case{{NAN}, {NAN}, {exactly(2.0)}}).compare({"y", 0, 0}).chosen->tolerance, 0);
}

TEST(Explain, TakesTheWorstElementAndCountsAll) {
  const Case all{{1.0F, 1.5F, 4.0F, NAN},
                 {1.0, 1.0, 1.0, NAN},
                 {exactly(1), exactly(1), exactly(4), exactly(NAN)}};
  const ComparedShadow compared = all.compare();
  EXPECT_EQ(compared.counts.elements, 4u);
  EXPECT_EQ(compared.counts.wrong, 2u);
  EXPECT_EQ(compared.counts.logic, 1u);
  EXPECT_EQ(compared.counts.numerical, 1u);
  ASSERT_TRUE(compared.worst);
  EXPECT_EQ(compared.worst->index, 2);
}

TEST(Explain, LooksAtAChosenElementThoughItIsRight) {
  const Case all{{1.0F, 4.0F}, {1.0, 1.0}, {exactly(1), exactly(4)}};
  const ComparedShadow compared = all.compare({"y", 0, 0});
  ASSERT_TRUE(compared.chosen);
  EXPECT_EQ(compared.chosen->verdict, ExplainVerdict::Passes);
  EXPECT_FALSE(all.compare({"y", 2, 0}).chosen);
}

TEST(Explain, SaysWhereTheErrorBeginsAndWhatToDo) {
  WrongElement element{
      .index = 3, .computed = 0.5, .exact = 0.25, .reference = 0.25, .known = true};
  element.verdict = ExplainVerdict::Numerical;
  ExecutionShadow history;
  ShadowStep origin{.kind = ShadowStep::Kind::Cancels, .instruction = "sub.rn.f32 %f3, %f1, %f2"};
  origin.file = "var.cu";
  origin.line = 12;
  history.origin.push_back(origin);
  const auto sentences = sentences_of(element, "y", DType::Float32, history);
  ASSERT_GE(sentences.size(), 3u);
  EXPECT_NE(sentences[0].find("y[3] is 0.5"), std::string::npos) << sentences[0];
  EXPECT_NE(sentences[1].find("var.cu:12"), std::string::npos) << sentences[1];
  EXPECT_NE(sentences.back().find("subtract the mean"), std::string::npos) << sentences.back();
}

TEST(Explain, AsksOfAnInvariantWhetherItWouldHoldWithoutRounding) {
  const auto broken = [](std::vector<ElementShadow> shadows) {
    const std::vector<float> computed = {0.5F, 0.75F};
    Comparison comparison;
    comparison.output_name = "y";
    comparison.output = {DType::Float32, {2}, std::as_bytes(std::span(computed))};
    comparison.has_reference = false;
    comparison.policy.invariants = {{InvariantKind::SumsToOne, {}, {}},
                                    {InvariantKind::NonNegative, {}, {}}};
    return judge_exactly(comparison, shadows);
  };
  const auto lost = broken({exactly(0.5), exactly(0.5)});
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(verdict_of(lost[0]), ExplainVerdict::Numerical);
  EXPECT_EQ(verdict_of(broken({exactly(0.5), exactly(0.75)}).at(0)), ExplainVerdict::Logic);
  EXPECT_EQ(verdict_of(broken({exactly(0.5), ElementShadow{}}).at(0)), ExplainVerdict::Logic);
  ASSERT_TRUE(lost[0].at);
  EXPECT_EQ(lost[0].at->exact, 0.5);
  const std::string first = sentences_of(lost[0], {}).at(0);
  EXPECT_NE(first.find("sums_to_one"), std::string::npos) << first;
}

TEST(Explain, NamesAnInvariantThatOnlyOneSideBreaks) {
  const std::vector<float> computed = {0.25F, 0.75F};
  const std::vector<double> reference = {0.25, 0.5};
  const std::vector<ElementShadow> shadows = {exactly(0.25), exactly(0.75)};
  Comparison comparison;
  comparison.output_name = "y";
  comparison.output = {DType::Float32, {2}, std::as_bytes(std::span(computed))};
  comparison.reference = {DType::Float64, {2}, std::as_bytes(std::span(reference))};
  comparison.reference_is_wide = true;
  comparison.policy.invariants = {{InvariantKind::SumsToOne, {}, {}}};
  const ComparedShadow compared = compare_shadow(comparison, shadows, {});
  EXPECT_EQ(compared.broken_by_reference, "sums_to_one");
  EXPECT_EQ(compared.broken_by_output, "");
}

TEST(Explain, NamesALineWithSeveralLoadsOnce) {
  const WrongElement element = *(Case{{2.0F}, {1.0}, {exactly(2.0)}}).compare().worst;
  const auto load = [](uint32_t line, uint64_t count) {
    return ShadowStep{.kind = ShadowStep::Kind::Load, .file = "k.cu", .line = line, .count = count};
  };
  ExecutionShadow history;
  history.slice = {load(49, 1), load(7, 2), load(49, 1)};
  const auto all = sentences_of(element, "y", DType::Float32, history);
  EXPECT_EQ(
      std::ranges::count(
          all, "The element is made of 2 values loaded at k.cu:49, 2 values loaded at k.cu:7."),
      1)
      << fmt::format("{}", fmt::join(all, "\n"));
}

}  // namespace
}  // namespace gpuemu
