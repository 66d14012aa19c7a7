#include "judge/verdict/nan_for_infinity.h"

#include <cmath>

#include <gtest/gtest.h>

#include "judge/bounds/test_values.h"
#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

/// The findings for one element when NaN may replace infinity; `input` is the op's input.
std::vector<FindingKind> found(float output, double reference, float input) {
  const Tensor got = floats({1}, {output}), want = doubles({1}, {reference}),
               read = floats({1}, {input});
  Comparison comparison = automatic(got, want);
  comparison.inputs["x"] = view_of(read);
  const auto made = nan_for_infinity(comparison);
  if (made) comparison.reference = view_of(*made);
  return kinds(validate(comparison));
}

TEST(NanForInfinity, PassesBesideInfiniteInputsAlone) {
  EXPECT_TRUE(found(NAN, INFINITY, INFINITY).empty());
  EXPECT_TRUE(found(NAN, -INFINITY, INFINITY).empty());
  EXPECT_FALSE(found(NAN, INFINITY, 1).empty()) << "1 / 0";
  EXPECT_FALSE(found(NAN, INFINITY, NAN).empty());
}

TEST(NanForInfinity, NeitherANumberNorALostNanNorAnotherSignPasses) {
  EXPECT_FALSE(found(NAN, 1, INFINITY).empty());
  EXPECT_FALSE(found(1, INFINITY, INFINITY).empty());
  EXPECT_FALSE(found(INFINITY, NAN, INFINITY).empty());
  EXPECT_FALSE(found(-INFINITY, INFINITY, INFINITY).empty());
}

/// The same when the kernel's infinity may replace NaN; `without` is what the reference says of
/// numbers in the place of infinities.
std::vector<FindingKind> found_without(float output, double reference, double without) {
  const Tensor got = floats({1}, {output}), want = doubles({1}, {reference}),
               numbers = doubles({1}, {without});
  Comparison comparison = automatic(got, want);
  const auto made = infinity_for_nan(comparison, view_of(numbers));
  if (made) comparison.reference = view_of(*made);
  return kinds(validate(comparison));
}

TEST(NanForInfinity, InfinityPassesForNanThatComesFromInfinity) {
  EXPECT_TRUE(found_without(INFINITY, NAN, 0).empty()) << "0 * inf";
  EXPECT_TRUE(found_without(-INFINITY, NAN, 5).empty());
  EXPECT_FALSE(found_without(INFINITY, NAN, NAN).empty()) << "a NaN of the inputs is lost";
  EXPECT_FALSE(found_without(INFINITY, 3, 3).empty());
  EXPECT_FALSE(found_without(INFINITY, -INFINITY, 3).empty());
  EXPECT_FALSE(found_without(3, NAN, 3).empty());
}

}  // namespace
}  // namespace gpuemu
