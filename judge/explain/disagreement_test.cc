#include "judge/explain/disagreement.h"

#include <cmath>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

Ballot on_emulator(double computed, double exact, double reference) {
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

Ballot on_both(double cuda, double emulator, double exact, double reference) {
  Ballot ballot = on_emulator(cuda, exact, reference);
  ballot.backend = "cuda";
  ballot.other_backend = "emulator";
  ballot.other = emulator;
  return ballot;
}

std::string alone(const Ballot& ballot) {
  const auto vote = cast_vote(ballot);
  return vote ? vote->alone : "no vote";
}

std::string sentence(const Ballot& ballot) { return cast_vote(ballot).value_or(Vote{}).sentence; }

bool says(const Ballot& ballot, std::string_view words) {
  return sentence(ballot).find(words) != std::string::npos;
}

TEST(Vote, BlamesTheArithmeticWhereTheFormulaGivesTheReference) {
  EXPECT_EQ(alone(on_emulator(2, 1, 1)), "kernel");
  EXPECT_TRUE(says(on_emulator(2, 1, 1), "its arithmetic is at fault"));
  EXPECT_TRUE(says(on_both(2, 2, 1, 1), "only the kernel on cuda and on emulator is wrong"));
}

TEST(Vote, NoBoundMakesAnInfinityTheSameAsAnotherValue) {
  for (const double reference : {-HUGE_VAL, HUGE_VAL}) {
    Ballot ballot = on_emulator(0, 0, reference);
    ballot.tolerance = HUGE_VAL;
    EXPECT_TRUE(says(ballot, "the reference disagrees with the kernel")) << sentence(ballot);
  }
  EXPECT_TRUE(says(on_emulator(3, HUGE_VAL, HUGE_VAL), "its arithmetic is at fault"));
}

TEST(Vote, DoesNotAcquitAKernelBecauseItsFormulaAgreesWithItself) {
  const Ballot ballot = on_emulator(2, 2, 1);
  EXPECT_EQ(alone(ballot), "reference");
  EXPECT_TRUE(says(ballot, "the kernel's is wrong unless the reference is")) << sentence(ballot);
  EXPECT_EQ(alone(on_both(2, 2, 2, 1)), "reference");
}

TEST(Vote, AsksTheOtherKernelsOfTheOpWhoseFormulaIsMeant) {
  Ballot ballot = on_emulator(2, 2, 1);
  ballot.others = {{"kernel plain", 1}};
  EXPECT_EQ(alone(ballot), "kernel");
  EXPECT_TRUE(says(ballot, "kernel plain matches the reference"));
  ballot.others = {{"kernel plain", 2}};
  EXPECT_EQ(alone(ballot), "reference");
  EXPECT_TRUE(says(ballot, "suspect the reference"));
}

TEST(Vote, BelievesAnInvariantThatOneSideBreaks) {
  Ballot ballot = on_emulator(2, 2, 1);
  ballot.broken_by_reference = "sums_to_one";
  EXPECT_TRUE(says(ballot, "it violates sums_to_one, which the output keeps: the reference is "));
  ballot.broken_by_reference.clear();
  ballot.broken_by_output = "sums_to_one";
  EXPECT_EQ(alone(ballot), "kernel");
}

TEST(Vote, NamesTheBackendThatStandsAlone) {
  const Ballot ballot = on_both(2, 1, 1, 1);
  EXPECT_EQ(alone(ballot), "cuda");
  EXPECT_TRUE(says(ballot, "(cuda 2, emulator 1, exact 1, reference 1)")) << sentence(ballot);
}

TEST(Vote, NamesNobodyWhereNoTwoAgree) {
  EXPECT_EQ(alone(on_both(3, 2, 1, 0)), "none");
  EXPECT_EQ(alone(on_both(3, 2, 1, 1)), "none");
  EXPECT_EQ(alone(on_emulator(3, 2, 1)), "none");
}

TEST(Vote, NeedsThreeSides) {
  Ballot ballot = on_emulator(2, 0, 1);
  ballot.exact.reset();
  EXPECT_EQ(alone(ballot), "no vote");
  ballot.other_backend = "cuda";
  ballot.other = 2;
  EXPECT_EQ(alone(ballot), "reference");
}

TEST(Vote, TakesNaNForAValueLikeAnyOther) {
  EXPECT_EQ(alone(on_emulator(NAN, 1, 1)), "kernel");
  EXPECT_EQ(alone(on_emulator(NAN, NAN, 1)), "reference");
  EXPECT_EQ(alone(on_both(INFINITY, 1, 1, 1)), "cuda");
}

}  // namespace
}  // namespace gpuemu
