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
  EXPECT_EQ(silence_of(result_of({FindingKind::ReferenceError})),
            "the reference answers no case: m");
  EXPECT_NE(silence_of(result_of({FindingKind::ShapeMismatch})), "");
  EXPECT_EQ(silence_of(result_of({FindingKind::ReferenceError, FindingKind::OutOfBounds})), "");
}

TEST(SilentReference, HoldsCasesBackUntilOneIsAnswered) {
  SilentReference<int> silent;
  std::vector<int> ready;
  silent.admit(1, "no answer", ready);
  silent.admit(2, "another one", ready);
  EXPECT_TRUE(ready.empty());
  EXPECT_EQ(silent.text(), "no answer");
  silent.admit(3, "", ready);
  EXPECT_EQ(ready, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(silent.text(), "");
  silent.admit(4, "no answer", ready);
  EXPECT_EQ(ready.back(), 4) << "a case of its own, once the reference has answered one";
}

TEST(SilentReference, IsCertainAfterSeveralCases) {
  SilentReference<int> silent;
  std::vector<int> ready;
  for (size_t i = 0; i < kSilentCasesMax; ++i) {
    EXPECT_FALSE(silent.is_certain());
    silent.admit(0, "no answer", ready);
  }
  EXPECT_TRUE(silent.is_certain());
}

}  // namespace
}  // namespace gpuemu
