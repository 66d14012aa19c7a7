#include "runtime/emulator/grid_deadlock.h"

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

TEST(Stalls, OneThreadAloneIsStuckWhenItsBlocksAre) {
  Stalls stalls(1);
  EXPECT_TRUE(stalls.all_stuck(0, stalls.begin(0)));
}
TEST(Stalls, AThreadThatStillRunsMayWakeTheOthers) {
  Stalls stalls(2);
  EXPECT_FALSE(stalls.all_stuck(0, stalls.begin(0)));
  EXPECT_TRUE(stalls.may_have_changed(0));
}
TEST(Stalls, WhatOneDidBeforeItLookedIsSeenByNoEarlierLook) {
  Stalls stalls(2);
  EXPECT_FALSE(stalls.all_stuck(0, stalls.begin(0)));
  EXPECT_FALSE(stalls.all_stuck(1, stalls.begin(1)));
  EXPECT_TRUE(stalls.may_have_changed(0));
  EXPECT_FALSE(stalls.may_have_changed(1));
  EXPECT_TRUE(stalls.all_stuck(0, stalls.begin(0)));
}
TEST(Stalls, ALookInProgressIsNoAnswer) {
  Stalls stalls(2);
  EXPECT_FALSE(stalls.all_stuck(0, stalls.begin(0)));
  const uint64_t time = stalls.begin(1);
  stalls.begin(0);
  EXPECT_FALSE(stalls.all_stuck(1, time));
}
TEST(Stalls, WhoGoesOnMakesTheOthersLookAgain) {
  Stalls stalls(2);
  stalls.all_stuck(0, stalls.begin(0));
  stalls.all_stuck(1, stalls.begin(1));
  stalls.begin(0);
  stalls.goes_on(0);
  EXPECT_TRUE(stalls.may_have_changed(1));
  EXPECT_FALSE(stalls.all_stuck(1, stalls.begin(1)));
}
TEST(Stalls, WhoHasNoBlocksDoesNotCount) {
  Stalls stalls(3);
  stalls.leaves(2);
  stalls.leaves(0);
  EXPECT_TRUE(stalls.all_stuck(1, stalls.begin(1)));
}

}  // namespace
}  // namespace gpuemu::emulator
