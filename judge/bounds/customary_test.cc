#include "judge/bounds/customary.h"

#include <cmath>

#include <gtest/gtest.h>

#include "judge/bounds/test_values.h"

namespace gpuemu {
namespace {

Comparison comparison_of(const Tensor& output, const Tensor& reference, const Tensor& input) {
  Comparison comparison;
  comparison.output = view_of(output);
  comparison.reference = view_of(reference);
  comparison.inputs["x"] = view_of(input);
  return comparison;
}

TEST(Customary, ItsAbsolutePartIsOfTheRowsMagnitude) {
  const Tensor output = floats({2, 2}, {0, 0, 0, 0}), reference = floats({2, 2}, {3, 4, 300, 400});
  const Tensor input = floats({1}, {1e-3});
  const Customary customary(comparison_of(output, reference, input));
  EXPECT_DOUBLE_EQ(customary.magnitude(1), std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(customary.magnitude(2), 100 * std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(customary.at(1, 4), 1.3e-6 * 4 + 1e-5 * std::sqrt(12.5));
}

TEST(Customary, WholeNumbersOfWholeNumbersAreExact) {
  const Tensor output = floats({1}, {0}), reference = floats({1}, {2});
  const Tensor whole = floats({2}, {3, -1}), thirds = floats({2}, {3, 0.5}),
               none = floats({1}, {NAN});
  const Customary customary(comparison_of(output, reference, whole));
  EXPECT_TRUE(customary.is_exact(200'000, 199'999));
  EXPECT_FALSE(customary.is_exact(200'000, 199'999.5)) << "something was divided";
  EXPECT_FALSE(customary.is_exact(0x1p25, 0x1p25 + 4)) << "such sums are rounded";
  EXPECT_FALSE(Customary(comparison_of(output, reference, thirds)).is_exact(200'000, 199'999));
  EXPECT_FALSE(Customary(comparison_of(output, reference, none)).is_exact(200'000, 199'999));
}

TEST(Customary, LongSumsWidenItButNotWithoutEnd) {
  const Tensor output = floats({1}, {0}), reference = floats({1}, {2});
  const auto allowed = [&](int64_t terms) {
    const Tensor input = make_tensor(DType::Float32, {terms});
    return Customary(comparison_of(output, reference, input)).at(0, 2);
  };
  const double usual = 1.3e-6 * 2 + 1e-5 * 2;
  EXPECT_DOUBLE_EQ(allowed(30), usual);
  EXPECT_NEAR(allowed(521) / usual, 1.5 * std::sqrt(521) * 0x1p-23 / 1.3e-6, 1e-9);
  EXPECT_DOUBLE_EQ(allowed(1 << 20), 4 * usual);
}

TEST(Customary, SmallResultsOfOrdinaryInputsCountAsOrdinary) {
  const Tensor output = floats({2}, {0, 0}), reference = floats({2}, {1e-9, -1e-9});
  const Tensor large = floats({2}, {-700, 500}), tiny = floats({2}, {1e-30, -1e-30});
  EXPECT_DOUBLE_EQ(Customary(comparison_of(output, reference, large)).magnitude(0), 1);
  EXPECT_NEAR(Customary(comparison_of(output, reference, tiny)).magnitude(0), 1e-9, 1e-15);
}

TEST(Customary, WhatIsNotFiniteHasNoMagnitude) {
  const Tensor output = floats({3}, {0, 0, 0});
  const Tensor reference = floats({3}, {3, INFINITY, NAN}), input = floats({1}, {NAN});
  EXPECT_DOUBLE_EQ(Customary(comparison_of(output, reference, input)).magnitude(0), 3);
  const Tensor none = floats({0}, {});
  EXPECT_NO_FATAL_FAILURE(Customary(comparison_of(none, none, none)));
}

}  // namespace
}  // namespace gpuemu
