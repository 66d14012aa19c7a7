#include "runtime/emulator/grid_deadlock.h"

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

TEST(GridDeadlock, OneThreadAloneIsStuckWhenItsBlocksAre) {
  GridDeadlock stalls(1);
  EXPECT_TRUE(stalls.all_stuck(0, stalls.begin(0)));
}
TEST(GridDeadlock, AThreadThatStillRunsMayWakeTheOthers) {
  GridDeadlock stalls(2);
  EXPECT_FALSE(stalls.all_stuck(0, stalls.begin(0)));
  EXPECT_TRUE(stalls.may_have_changed(0));
}
TEST(GridDeadlock, WhatOneDidBeforeItLookedIsSeenByNoEarlierLook) {
  GridDeadlock stalls(2);
  EXPECT_FALSE(stalls.all_stuck(0, stalls.begin(0)));
  EXPECT_FALSE(stalls.all_stuck(1, stalls.begin(1)));
  EXPECT_TRUE(stalls.may_have_changed(0));
  EXPECT_FALSE(stalls.may_have_changed(1));
  EXPECT_TRUE(stalls.all_stuck(0, stalls.begin(0)));
}
TEST(GridDeadlock, ALookInProgressIsNoAnswer) {
  GridDeadlock stalls(2);
  EXPECT_FALSE(stalls.all_stuck(0, stalls.begin(0)));
  const uint64_t time = stalls.begin(1);
  stalls.begin(0);
  EXPECT_FALSE(stalls.all_stuck(1, time));
}
TEST(GridDeadlock, WhoGoesOnMakesTheOthersLookAgain) {
  GridDeadlock stalls(2);
  stalls.all_stuck(0, stalls.begin(0));
  stalls.all_stuck(1, stalls.begin(1));
  stalls.begin(0);
  stalls.goes_on(0);
  EXPECT_TRUE(stalls.may_have_changed(1));
  EXPECT_FALSE(stalls.all_stuck(1, stalls.begin(1)));
}
TEST(GridDeadlock, WhoHasNoBlocksDoesNotCount) {
  GridDeadlock stalls(3);
  stalls.leaves(2);
  stalls.leaves(0);
  EXPECT_TRUE(stalls.all_stuck(1, stalls.begin(1)));
}

}  // namespace
}  // namespace gpuemu::emulator
