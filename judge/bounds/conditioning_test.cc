#include "judge/bounds/conditioning.h"

#include <cmath>

#include <gtest/gtest.h>

#include "judge/bounds/test_values.h"

namespace gpuemu {
namespace {

constexpr DrawnFor kCase{7, 3};

TEST(Conditioning, NeighboursAreOnePlaceAwayAndTakeTurnsFirst) {
  NamedTensors inputs;
  inputs["x"] = floats({5}, {1, 1, 0, INFINITY, 1});
  inputs["n"] = tensor_of<int32_t>(DType::Int32, {1}, {5});
  const NamedTensors first = neighbours_of(inputs, kCase, 0);
  const TensorView x = view_of(first.at("x"));
  EXPECT_EQ(element(x, 0), 1 - 0x1p-23);
  EXPECT_EQ(element(x, 1), 1 + 0x1p-23);
  EXPECT_EQ(element(x, 2), 0);
  EXPECT_EQ(element(x, 3), INFINITY);
  EXPECT_EQ(element(x, 4), 1 - 0x1p-23);
  EXPECT_EQ(first.at("n").data, inputs.at("n").data);
  EXPECT_EQ(neighbours_of(inputs, kCase, 1).at("x").data,
            neighbours_of(inputs, kCase, 1).at("x").data);
}

TEST(Conditioning, TermsComeFromTheLongestAxisOrTheElementsOfOneResult) {
  EXPECT_EQ(terms_of({{4, 300}}, {4}), 300);
  EXPECT_EQ(terms_of({{8, 8, 8}}, {1}), 512);
  EXPECT_EQ(terms_of({}, {3}), 1);
}

TEST(Conditioning, AllowsMoreWithTermsButNotInHalf) {
  const Conditioning wide(DType::Float32, 1), sum(DType::Float32, 10'000);
  EXPECT_DOUBLE_EQ(wide.allowed(1e-3, 1), 32e-3);
  EXPECT_DOUBLE_EQ(wide.allowed(0, 1), 16 * 0x1p-23);
  EXPECT_DOUBLE_EQ(sum.allowed(1e-3, 1), 0.4);
  EXPECT_DOUBLE_EQ(sum.allowed(0, 1), 2500 * 0x1p-23);
  const Conditioning half(DType::Float16, 10'000);
  EXPECT_DOUBLE_EQ(half.allowed(1e-3, 0), 8e-3);
  EXPECT_DOUBLE_EQ(half.allowed(0, 1), 2 * 0x1p-10);
  const Conditioning of_halves(DType::Float32, 10'000, true);
  EXPECT_DOUBLE_EQ(of_halves.allowed(1e-3, 1), 8e-3) << "places of the inputs, not of the sums";
  EXPECT_DOUBLE_EQ(of_halves.allowed(0, 1), 2500 * 0x1p-23);
}

TEST(Conditioning, AllowsWhatASumOfEqualTermsLoses) {
  for (const int terms : {1'000, 65'536, 131'072, 1 << 20}) {
    for (const float term : {0.1f, 0.3f, 0.7f}) {
      float sum = 0;
      for (int i = 0; i < terms; ++i) sum += term;
      const double exact = double{term} * terms;
      EXPECT_LE(std::abs(sum - exact), Conditioning(DType::Float32, terms).allowed(0, exact))
          << terms << " times " << term;
    }
  }
}

TEST(Conditioning, DoesNotAllowASumThatStopsGrowing) {
  EXPECT_DOUBLE_EQ(Conditioning(DType::Float32, 1 << 20).allowed(0, 1), (1 << 18) * 0x1p-23);
  EXPECT_LT(Conditioning(DType::Float32, 2e7).allowed(0, 1), 1 - 0x1p24 / 2e7);  // It ends at 2^24.
}

TEST(Conditioning, NoDrawHelpsWhatIsFarOff) {
  EXPECT_TRUE(may_be_explained(99, 1));
  EXPECT_FALSE(may_be_explained(101, 1));
  EXPECT_FALSE(may_be_explained(NAN, 1));
}

TEST(Conditioning, OneMoreDrawMayExplainWhatIsNotFarOff) {
  EXPECT_TRUE(is_nearly_explained(3.9, 1));
  EXPECT_FALSE(is_nearly_explained(4.1, 1));
  EXPECT_FALSE(is_nearly_explained(NAN, 1));
}

TEST(Conditioning, AnElementStaysByChanceOnlyWhereOthersMove) {
  EXPECT_TRUE(stayed_by_chance(0, 1));
  EXPECT_TRUE(stayed_by_chance(1e-9, 1));
  EXPECT_TRUE(stayed_by_chance(0, 0));  // The only element of its output.
  EXPECT_FALSE(stayed_by_chance(1e-3, 1));
  EXPECT_FALSE(stayed_by_chance(1, 1));
  EXPECT_FALSE(stayed_by_chance(NAN, 1));
}

}  // namespace
}  // namespace gpuemu
