#include "daemon/campaign/together_pace.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

using std::chrono::milliseconds;

std::vector<Result<CaseReport>> passing(size_t count) {
  CaseReport report;
  report.result.passed = true;
  return {count, report};
}

TEST(TogetherPace, DoublesWhileCasesPass) {
  TogetherReached reached;
  TogetherPace pace(8, reached);
  for (const size_t wanted : {1, 2, 4, 8, 8}) {
    EXPECT_EQ(pace.cases(false), wanted);
    pace.note(passing(pace.cases(false)), milliseconds(1));
  }
}

TEST(TogetherPace, BeginsAgainWithOneAfterAFailureOrAnError) {
  TogetherReached reached;
  TogetherPace pace(8, reached);
  pace.note(passing(4), milliseconds(1));
  auto outcomes = passing(8);
  outcomes[5]->result.passed = false;
  pace.note(outcomes, milliseconds(1));
  EXPECT_EQ(pace.cases(false), 1u);
  pace.note(passing(4), milliseconds(1));
  outcomes = passing(8);
  outcomes[0] = error(ErrorCode::Timeout, "too late");
  pace.note(outcomes, milliseconds(1));
  EXPECT_EQ(pace.cases(false), 1u);
}

TEST(TogetherPace, HoldsASlotOnlyForItsLimit) {
  TogetherReached reached;
  TogetherPace pace(8, reached);
  pace.note(passing(4), 4 * kTogetherMax / 3);
  EXPECT_EQ(pace.cases(false), 3u);
  pace.note(passing(3), 3 * kTogetherMax + milliseconds(3));
  EXPECT_EQ(pace.cases(false), 1u);
}

TEST(TogetherPace, GivesASlotAwaySoonerWhileOthersWait) {
  TogetherReached reached;
  TogetherPace pace(8, reached);
  EXPECT_EQ(pace.cases(true), 1u);
  pace.note(passing(8), 2 * kTogetherWhileOthersWait);
  EXPECT_EQ(pace.cases(false), 8u);
  EXPECT_EQ(pace.cases(true), 4u);
  pace.note(passing(4), 4 * kTogetherWhileOthersWait + milliseconds(4));
  EXPECT_EQ(pace.cases(true), 1u);
}

TEST(TogetherPace, GoesOnWithWhatOtherThreadsHaveReached) {
  TogetherReached reached;
  TogetherPace first(8, reached), slow(8, reached), next(8, reached);
  first.note(passing(4), milliseconds(1));
  EXPECT_EQ(next.cases(false), 8u);
  slow.note(passing(1), kTogetherMax + milliseconds(1));  // As while its processes start.
  EXPECT_EQ(slow.cases(false), 1u);
  EXPECT_EQ(next.cases(false), 8u);
  slow.note(passing(1), milliseconds(1));
  EXPECT_EQ(slow.cases(false), 8u);
}

TEST(TogetherPace, GrowsByItselfAfterAFailure) {
  TogetherReached reached;
  TogetherPace first(8, reached), second(8, reached);
  first.note(passing(4), milliseconds(1));
  auto outcomes = passing(8);
  outcomes[0]->result.passed = false;
  second.note(outcomes, milliseconds(1));
  for (const size_t wanted : {1, 2, 4, 8}) {
    EXPECT_EQ(second.cases(false), wanted);
    second.note(passing(second.cases(false)), milliseconds(1));
  }
}

TEST(TogetherPace, IsOneOnASlotWithOnePlace) {
  TogetherReached reached;
  TogetherPace pace(1, reached);
  pace.note(passing(1), milliseconds(1));
  EXPECT_EQ(pace.cases(false), 1u);
}

}  // namespace
}  // namespace gpuemu
