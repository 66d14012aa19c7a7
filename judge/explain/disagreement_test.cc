#include "judge/explain/disagreement.h"

#include <cmath>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

DisputedElement on_emulator(double computed, double exact, double reference) {
  return {.backend = "emulator",
          .computed = computed,
          .other_backend = {},
          .other = {},
          .exact = exact,
          .others = {},
          .reference = reference,
          .tolerance = 1e-3,
          .broken_by_reference = {},
          .broken_by_output = {}};
}

DisputedElement on_both(double cuda, double emulator, double exact, double reference) {
  DisputedElement disputed = on_emulator(cuda, exact, reference);
  disputed.backend = "cuda";
  disputed.other_backend = "emulator";
  disputed.other = emulator;
  return disputed;
}

std::string alone(const DisputedElement& disputed) {
  const auto disagreement = find_dissenter(disputed);
  return disagreement ? disagreement->dissenter : "no vote";
}

std::string sentence(const DisputedElement& disputed) {
  return find_dissenter(disputed).value_or(Disagreement{}).sentence;
}

bool says(const DisputedElement& disputed, std::string_view words) {
  return sentence(disputed).find(words) != std::string::npos;
}

TEST(Disagreement, BlamesTheArithmeticWhereTheFormulaGivesTheReference) {
  EXPECT_EQ(alone(on_emulator(2, 1, 1)), "kernel");
  EXPECT_TRUE(says(on_emulator(2, 1, 1), "its arithmetic is at fault"));
  EXPECT_TRUE(says(on_both(2, 2, 1, 1), "only the kernel on cuda and on emulator is wrong"));
}

TEST(Disagreement, NoBoundMakesAnInfinityTheSameAsAnotherValue) {
  for (const double reference : {-HUGE_VAL, HUGE_VAL}) {
    DisputedElement disputed = on_emulator(0, 0, reference);
    disputed.tolerance = HUGE_VAL;
    EXPECT_TRUE(says(disputed, "the reference disagrees with the kernel")) << sentence(disputed);
  }
  EXPECT_TRUE(says(on_emulator(3, HUGE_VAL, HUGE_VAL), "its arithmetic is at fault"));
}

TEST(Disagreement, DoesNotAcquitAKernelBecauseItsFormulaAgreesWithItself) {
  const DisputedElement disputed = on_emulator(2, 2, 1);
  EXPECT_EQ(alone(disputed), "reference");
  EXPECT_TRUE(says(disputed, "the kernel's is wrong unless the reference is"))
      << sentence(disputed);
  EXPECT_EQ(alone(on_both(2, 2, 2, 1)), "reference");
}

TEST(Disagreement, AsksTheOtherKernelsOfTheOpWhoseFormulaIsMeant) {
  DisputedElement disputed = on_emulator(2, 2, 1);
  disputed.others = {{"kernel plain", 1}};
  EXPECT_EQ(alone(disputed), "kernel");
  EXPECT_TRUE(says(disputed, "kernel plain matches the reference"));
  disputed.others = {{"kernel plain", 2}};
  EXPECT_EQ(alone(disputed), "reference");
  EXPECT_TRUE(says(disputed, "suspect the reference"));
}

TEST(Disagreement, BelievesAnInvariantThatOneSideBreaks) {
  DisputedElement disputed = on_emulator(2, 2, 1);
  disputed.broken_by_reference = "sums_to_one";
  EXPECT_TRUE(says(disputed, "it violates sums_to_one, which the output keeps: the reference is "));
  disputed.broken_by_reference.clear();
  disputed.broken_by_output = "sums_to_one";
  EXPECT_EQ(alone(disputed), "kernel");
}

TEST(Disagreement, NamesTheBackendThatStandsAlone) {
  const DisputedElement disputed = on_both(2, 1, 1, 1);
  EXPECT_EQ(alone(disputed), "cuda");
  EXPECT_TRUE(says(disputed, "(cuda 2, emulator 1, exact 1, reference 1)")) << sentence(disputed);
}

TEST(Disagreement, NamesNobodyWhereNoTwoAgree) {
  EXPECT_EQ(alone(on_both(3, 2, 1, 0)), "none");
  EXPECT_EQ(alone(on_both(3, 2, 1, 1)), "none");
  EXPECT_EQ(alone(on_emulator(3, 2, 1)), "none");
}

TEST(Disagreement, NeedsThreeSides) {
  DisputedElement disputed = on_emulator(2, 0, 1);
  disputed.exact.reset();
  EXPECT_EQ(alone(disputed), "no vote");
  disputed.other_backend = "cuda";
  disputed.other = 2;
  EXPECT_EQ(alone(disputed), "reference");
}

TEST(Disagreement, TakesNaNForAValueLikeAnyOther) {
  EXPECT_EQ(alone(on_emulator(NAN, 1, 1)), "kernel");
  EXPECT_EQ(alone(on_emulator(NAN, NAN, 1)), "reference");
  EXPECT_EQ(alone(on_both(INFINITY, 1, 1, 1)), "cuda");
}

}  // namespace
}  // namespace gpuemu
