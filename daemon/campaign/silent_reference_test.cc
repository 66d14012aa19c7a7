#include "daemon/campaign/silent_reference.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

ValidationResult result_of(std::vector<FindingKind> kinds) {
  ValidationResult result;
  for (const FindingKind kind : kinds) result.failures.push_back({.kind = kind, .message = "m"});
  result.passed = kinds.empty();
  return result;
}

TEST(SilentReference, IsWhatSaysNothingOfTheKernel) {
  EXPECT_EQ(silence_of(result_of({})), "");
  EXPECT_EQ(silence_of(result_of({FindingKind::ReferenceError})), "m");
  EXPECT_NE(silence_of(result_of({FindingKind::ShapeMismatch})).find("`outputs`"),
            std::string::npos);
  EXPECT_EQ(silence_of(result_of({FindingKind::ReferenceError, FindingKind::OutOfBounds})), "");
}

/// The cases that are kept when those of the text were silent ('.') or answered ('a').
std::vector<int> kept(SilentReference<int>& silent, const std::string& cases) {
  std::vector<int> ready;
  for (size_t i = 0; i < cases.size(); ++i) {
    silent.admit(static_cast<int>(i), cases[i] == 'a' ? "" : "m", ready);
  }
  return ready;
}

TEST(SilentReference, HoldsCasesBackUntilSomeAreAnswered) {
  SilentReference<int> silent;
  EXPECT_EQ(kept(silent, ".."), (std::vector<int>{}));
  EXPECT_EQ(silent.text(), "the reference answers no case: m");
  EXPECT_EQ(kept(silent, "aa"), (std::vector<int>{0, 1})) << "the answered ones";
  EXPECT_EQ(silent.text(), "the reference answers only 2 of 4 cases: m");
  EXPECT_EQ(kept(silent, "a"), (std::vector<int>{0, 1, 0})) << "and those that were held";
  EXPECT_EQ(silent.text(), "");
  EXPECT_EQ(kept(silent, "...................."), kept(silent, "....................")) << "kept";
  EXPECT_FALSE(silent.is_certain());
}

TEST(SilentReference, AnswersByChanceCountForNothing) {
  SilentReference<int> silent("its scripts answer");
  EXPECT_EQ(kept(silent, "a.........."), (std::vector<int>{0}));
  EXPECT_TRUE(silent.is_certain());
  EXPECT_EQ(silent.text(), "its scripts answer only 1 of 11 cases: m");
  SilentReference<int> more;
  EXPECT_EQ(kept(more, "a.....a.....a..").size(), 3u);
  EXPECT_FALSE(more.is_certain());
  EXPECT_EQ(more.text(), "the reference answers only 3 of 15 cases: m");
}

TEST(SilentReference, IsCertainAfterSeveralCases) {
  SilentReference<int> silent;
  for (size_t i = 0; i < kSilentCasesMax; ++i) {
    EXPECT_FALSE(silent.is_certain());
    kept(silent, ".");
  }
  EXPECT_TRUE(silent.is_certain());
}

}  // namespace
}  // namespace gpuemu
