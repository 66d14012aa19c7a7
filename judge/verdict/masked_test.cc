#include "judge/verdict/masked.h"

#include <cmath>
#include <span>

#include <gtest/gtest.h>

#include "judge/bounds/test_values.h"

namespace gpuemu {
namespace {

constexpr DrawnFor kCase{7, 3};

TEST(Masked, NumbersStandForNanAndInfinityFromBothEnds) {
  const Tensor x = floats({4}, {1, NAN, INFINITY, -INFINITY}), y = floats({2}, {NAN, 3});
  const std::map<std::string, TensorView> inputs{{"x", view_of(x)}, {"y", view_of(y)}};
  const DeclaredRanges ranges{{"y", {2, 6}}};
  ASSERT_EQ(masked_draws(inputs), 16u);
  const NamedTensors high = finite_inputs(inputs, ranges, kCase, 4);
  const NamedTensors low = finite_inputs(inputs, ranges, kCase, 5);
  const NamedTensors middle = finite_inputs(inputs, ranges, kCase, 6);
  const NamedTensors far = finite_inputs(inputs, ranges, kCase, 7);
  EXPECT_EQ(element(view_of(high.at("x")), 0), 1);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_GE(element(view_of(high.at("x")), i), 16);
    EXPECT_LE(element(view_of(low.at("x")), i), -16);
    EXPECT_LE(std::fabs(element(view_of(middle.at("x")), i)), 0.5);
    EXPECT_GE(std::fabs(element(view_of(far.at("x")), i)), 16);
    EXPECT_LE(std::fabs(element(view_of(far.at("x")), i)), 32768);
  }
  EXPECT_GE(element(view_of(high.at("y")), 0), 5);
  EXPECT_LE(element(view_of(high.at("y")), 0), 6);
  EXPECT_LE(element(view_of(low.at("y")), 0), 3);
  EXPECT_GE(element(view_of(low.at("y")), 0), 2);
  EXPECT_GE(element(view_of(middle.at("y")), 0), 3.5);
  EXPECT_LE(element(view_of(middle.at("y")), 0), 4.5);
}

TEST(Masked, NumbersStandInOneInputAlone) {
  const Tensor x = floats({1}, {NAN}), y = floats({1}, {INFINITY});
  const std::map<std::string, TensorView> inputs{{"x", view_of(x)}, {"y", view_of(y)}};
  const NamedTensors first = finite_inputs(inputs, {}, kCase, 8);
  const NamedTensors second = finite_inputs(inputs, {}, kCase, 12);
  EXPECT_GE(element(view_of(first.at("x")), 0), 16);
  EXPECT_EQ(element(view_of(first.at("y")), 0), INFINITY);
  EXPECT_TRUE(std::isnan(element(view_of(second.at("x")), 0)));
  EXPECT_EQ(masked_draws({{"x", view_of(x)}}), 4u);
}

TEST(Masked, InputsWithoutThemAskForNothing) {
  const Tensor x = floats({2}, {1, 2}), n = tensor_of<int32_t>(DType::Int32, {1}, {5});
  EXPECT_EQ(masked_draws({{"x", view_of(x)}, {"n", view_of(n)}}), 0u);
}

/// Returns the result for one element: NaN, or the value on which the answers agree.
double told(double output, double reference, const std::vector<double>& answers,
            const std::vector<double>& limits = {}) {
  const Tensor got = floats({1}, {static_cast<float>(output)}), want = doubles({1}, {reference});
  std::vector<Tensor> held;
  for (const auto* all : {&answers, &limits}) {
    for (const double answer : *all) held.push_back(doubles({1}, {answer}));
  }
  std::vector<TensorView> views;
  for (const Tensor& one : held) views.push_back(view_of(one));
  const std::span all(views);
  const auto made = masked_reference(automatic(got, want, NanPolicy::Match),
                                     all.first(answers.size()), all.subspan(answers.size()));
  return made ? element(view_of(*made), 0) : NAN;
}

TEST(Masked, AnElementThatDoesNotDependOnThemIsTheSameForAll) {
  EXPECT_EQ(told(2, NAN, {2, 2, 2, 2}), 2);
  EXPECT_EQ(told(7, NAN, {0, 0, 0, 0, 7, 7, 7, 7}), 7) << "large numbers have taken it up";
  EXPECT_EQ(told(7, NAN, {7, 7, 7, 7, 0, 0, 0, 0}), 7);
  EXPECT_EQ(told(5, INFINITY, {2, 2, 2, 2}), 2) << "the bound judges it then";
  EXPECT_TRUE(std::isnan(told(0, NAN, {20, 0, 0, 0}))) << "relu that loses a NaN";
  EXPECT_EQ(told(2, NAN, {9, 8, 9, 9, 2, 2, 2, 2}), 2) << "one input alone is masked";
  EXPECT_EQ(told(-INFINITY, NAN, {9, 8, 9, 9, -INFINITY, -INFINITY, -INFINITY, -INFINITY}),
            -INFINITY);
  EXPECT_TRUE(std::isnan(told(2, NAN, {2, 2, 2}))) << "an answer is missing";
  EXPECT_TRUE(std::isnan(told(2, NAN, {2, 2, NAN, 2})));
  EXPECT_TRUE(std::isnan(told(1, NAN, {1, 1, 0.25, 1}))) << "min(|x|, 1) that loses a NaN";
  EXPECT_TRUE(std::isnan(told(NAN, NAN, {2, 2, 2, 2}))) << "both are none";
  EXPECT_TRUE(std::isnan(told(2, 3, {2, 2, 2, 2}))) << "the reference is a number";
  EXPECT_TRUE(std::isnan(told(INFINITY, INFINITY, {2, 2, 2, 2}))) << "they agree already";
}

TEST(Masked, WhatGrowsWithoutLimitIsInfinite) {
  EXPECT_EQ(told(INFINITY, NAN, {9, 8, 9, 9, 1e24, 2e30, 3e25, 1e28}), INFINITY);
  EXPECT_EQ(told(-INFINITY, NAN, {-1e24, -2e30, -3e25, -1e28}), -INFINITY);
  EXPECT_TRUE(std::isnan(told(INFINITY, NAN, {1e24, -2e30, 3e25, 1e28}))) << "inf - inf";
}

TEST(Masked, WhatGrowsWithInfinityIsInfiniteHoweverLittleItCounts) {
  const std::vector<double> numbers = {5, 5, 5, 5}, none;
  EXPECT_EQ(told(INFINITY, NAN, numbers, {5.2, 5.01, 6, 5.1}), INFINITY);
  EXPECT_EQ(told(-INFINITY, NAN, none, {-5.2, -5.01, -6, -5.1}), -INFINITY);
  EXPECT_EQ(told(-INFINITY, NAN, numbers, {5.2, 5.01, 6, 5.1}), 5) << "of the other sign";
  EXPECT_TRUE(std::isnan(told(INFINITY, NAN, none, {5.2, 5.01, 5.1, 6}))) << "inf - inf";
  EXPECT_TRUE(std::isnan(told(INFINITY, NAN, none, {5, 5, 6, 5.1})));
  EXPECT_EQ(told(5, NAN, numbers, {5.2, 5.01, 6, 5.1}), 5) << "the kernel has a number";
}

TEST(Masked, LargeNumbersComeInPairsOfWhichTheFirstIsLarger) {
  const Tensor x = floats({3}, {INFINITY, -INFINITY, INFINITY});
  const std::map<std::string, TensorView> inputs = {{"x", view_of(x)}};
  ASSERT_EQ(limit_draws(inputs), kMaskedDraws);
  std::vector<Tensor> made;
  for (size_t number = 0; number < kMaskedDraws; ++number) {
    made.push_back(finite_inputs(inputs, {}, kCase, number).at("x"));
  }
  const auto at = [&](size_t draw, size_t i) { return element(view_of(made[draw]), i); };
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(at(0, i) / at(1, i), 16, 1e-3);
    EXPECT_NEAR(at(2, i) / at(3, i), 16, 1e-3);
  }
  EXPECT_EQ(at(0, 0) > at(0, 2), at(2, 0) < at(2, 2)) << "inf - inf has either sign";
}

TEST(Masked, LargeNumbersStandForInfinityFirstAndKeepItsSign) {
  const Tensor x = floats({4}, {1, NAN, INFINITY, -INFINITY});
  const std::map<std::string, TensorView> inputs = {{"x", view_of(x)}};
  ASSERT_EQ(masked_draws(inputs), 8u);
  for (size_t number = 0; number < kMaskedDraws; ++number) {
    const Tensor made = finite_inputs(inputs, {}, kCase, number).at("x");
    EXPECT_EQ(element(view_of(made), 0), 1);
    EXPECT_LE(std::fabs(element(view_of(made), 1)), 32768);
    EXPECT_GE(element(view_of(made), 2), 0x1p80);
    EXPECT_LE(element(view_of(made), 3), -0x1p80);
  }
}

TEST(Masked, NumbersStandForInfinityAloneAndKeepItsSign) {
  const Tensor x = floats({4}, {1, NAN, INFINITY, -INFINITY}), n = floats({1}, {2});
  const NamedTensors made = numbers_for_infinity({{"x", view_of(x)}}, {}, kCase);
  const TensorView view = view_of(made.at("x"));
  EXPECT_EQ(element(view, 0), 1);
  EXPECT_TRUE(std::isnan(element(view, 1)));
  EXPECT_TRUE(element(view, 2) >= 16 && element(view, 2) <= 32);
  EXPECT_TRUE(element(view, 3) <= -16 && element(view, 3) >= -32);
  EXPECT_TRUE(numbers_for_infinity({{"n", view_of(n)}}, {}, kCase).empty());
}

TEST(Masked, OnlyAnswersThatAgreeAboutAnElementMayTell) {
  const Tensor a = floats({2}, {1, 2}), b = floats({2}, {1, 3});
  const std::vector<TensorView> answers = {view_of(a), view_of(b)};
  EXPECT_TRUE(may_be_masked(answers, std::vector<size_t>{0}));
  EXPECT_FALSE(may_be_masked(answers, std::vector<size_t>{1}));
  EXPECT_FALSE(may_be_masked(answers, std::vector<size_t>{2})) << "of another size";
  std::vector<size_t> left = {0, 1};
  drop_decided(answers, left);
  EXPECT_EQ(left, std::vector<size_t>{1});
}

}  // namespace
}  // namespace gpuemu
