#include "runtime/emulator/shadow/nudge.h"

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

TEST(Nudge, ConstantsThatWereRoundedAreUncertainByTheirLastPlace) {
  EXPECT_EQ(uncertainty_of_constant(0.1F, Format::F32), 0x1p-27);
  EXPECT_EQ(uncertainty_of_constant(-0.7978846F, Format::F32), 0x1p-24);
  for (const double exact : {0.0, 1.0, 0.5, -0.75, 127.0, 12'582'913.0, 1e10}) {
    EXPECT_EQ(uncertainty_of_constant(exact, Format::F32), 0) << exact;
  }
}

TEST(Nudge, WhatIsLeftOfOneHasTheLastPlaceOfWhatWasTakenAway) {
  EXPECT_EQ(uncertainty_of_constant(1.0F - 0.999F, Format::F32), 0x1p-24);
  EXPECT_EQ(uncertainty_of_constant(1.0F - 0.9F, Format::F32), 0x1p-24);
  EXPECT_LT(uncertainty_of_constant(0.001F, Format::F32), 0x1p-32);
}

TEST(Nudge, AConstantMovesTheSameWayWhereverItStands) {
  bool up = false, down = false;
  for (uint64_t draw = 1; draw < 64; ++draw) {
    const double moved = nudged_constant(0.1F, Format::F32, draw);
    EXPECT_EQ(moved, nudged_constant(0.1F, Format::F32, draw));
    EXPECT_EQ(std::fabs(moved - 0.1F), 0x1p-27);
    (moved > 0.1F ? up : down) = true;
  }
  EXPECT_TRUE(up && down);
}

struct Difference {
  std::unique_ptr<std::array<Lanes, 3>> operands = std::make_unique<std::array<Lanes, 3>>();
  std::unique_ptr<Lanes> out = std::make_unique<Lanes>();
  Lanes& own() { return (*operands)[0]; }
  Lanes& shared() { return (*operands)[1]; }
  Difference() {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      own().high[lane] = own().computed[lane] = 1000.0 + lane;
      shared().high[lane] = 1000.25;
      shared().computed[lane] = 1000.25F;
      shared().bound[lane] = 1e-4;
      own().bound[lane] = own().low[lane] = shared().low[lane] = out->low[lane] = 0;
      out->high[lane] = own().high[lane] - 1000.25;
    }
  }
  bool nudge(uint32_t mask) { return nudge_shared(*operands, Format::F32, mask, 1, *out); }
};

TEST(Nudge, ASharedMeanMovesByThreeQuartersOfItsLastPlaceInEveryLane) {
  Difference of;
  ASSERT_TRUE(of.nudge(0xff));
  const double moved = of.out->high[0] + of.out->low[0] - (1000.0 - 1000.25);
  EXPECT_EQ(std::fabs(moved), 0.75 * 0x1p-14);
  EXPECT_EQ(of.out->high[7], 1007.0 - 1000.25 + moved);
  EXPECT_EQ(of.out->high[8], 1008.0 - 1000.25) << "an idle lane";
}

TEST(Nudge, AMeanOfARowPerThreadMovesInItsLane) {
  Difference of;
  of.shared().high[3] = of.shared().computed[3] = 500.5;
  ASSERT_TRUE(of.nudge(0xff));
  EXPECT_EQ(std::fabs(of.out->high[0] + of.out->low[0] - (1000.0 - 1000.25)), 0.75 * 0x1p-14);
  EXPECT_EQ(std::fabs(of.out->high[3] + of.out->low[3] - (1003.0 - 1000.25)), 0.75 * 0x1p-15);
}

TEST(Nudge, AMeanThatIsNoNumberOrZeroStopsNoOther) {
  Difference of;
  of.shared().high[1] = of.shared().computed[1] = 0;
  of.shared().high[2] = of.shared().computed[2] = NAN;
  of.shared().high[3] = of.shared().computed[3] = 500.5;
  of.out->high[1] = 1001.0;
  of.out->high[2] = NAN;
  ASSERT_TRUE(of.nudge(0xff));
  EXPECT_EQ(std::fabs(of.out->high[0] + of.out->low[0] - (1000.0 - 1000.25)), 0.75 * 0x1p-14);
  EXPECT_EQ(of.out->high[1] + of.out->low[1], 1001.0);
  EXPECT_TRUE(std::isnan(of.out->high[2]));
}

TEST(Nudge, TheFractionOfACoordinateMovesByTheLastPlaceOfTheCoordinate) {
  Difference of;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    of.own().high[lane] = of.own().computed[lane] = 13.75 + 2 * lane;
    of.own().bound[lane] = 1e-6;
    of.shared().high[lane] = of.shared().computed[lane] = 13.0 + 2 * lane;
    of.shared().bound[lane] = 0;
    of.out->high[lane] = 0.75;
  }
  ASSERT_TRUE(of.nudge(0xff));
  EXPECT_EQ(std::fabs(of.out->high[0] + of.out->low[0] - 0.75), 0.75 * 0x1p-20);
  EXPECT_EQ(std::fabs(of.out->high[3] + of.out->low[3] - 0.75), 0.75 * 0x1p-19);
  of.own().bound.fill(0);
  EXPECT_FALSE(of.nudge(0xff)) << "what was read is as exact as the inputs";
}

TEST(Nudge, TwoValuesOfOneKindAreLeftAlone) {
  Difference both, neither, exact;
  both.own() = both.shared();
  EXPECT_FALSE(both.nudge(0xff)) << "E[x^2] - mean^2 of a block";
  neither.shared().high[3] = neither.shared().computed[3] = 7;
  neither.own().bound.fill(1e-4);
  EXPECT_FALSE(neither.nudge(0xff)) << "E[x^2] - mean^2 of a row per thread";
  exact.shared().bound.fill(0);
  EXPECT_FALSE(exact.nudge(0xff)) << "a maximum is as exact as the inputs";
}

TEST(Nudge, AFactorThatTheWarpSharesMovesItsProductsWithWhatWasRead) {
  Difference of;
  for (uint32_t lane = 0; lane < kLanes; ++lane) of.out->high[lane] = of.own().high[lane] * 1000.25;
  for (uint32_t lane = 0; lane < kLanes; ++lane) of.own().bound[lane] = lane == 3 ? 1e-4 : 0;
  nudge_factor(*of.operands, 1U << 2 | 1U << 3, 1, *of.out);
  const double moved = of.out->high[2] + of.out->low[2] - 1002.0 * 1000.25;
  EXPECT_NEAR(std::fabs(moved), 1002.0 * 0.75 * 0x1p-14, 1e-9) << "one lane of a warp that shares";
  EXPECT_EQ(of.out->high[3], 1003.0 * 1000.25) << "was not read";
  EXPECT_EQ(of.out->high[4], 1004.0 * 1000.25) << "an idle lane";
}

TEST(Nudge, AFactorOfOneLaneAloneStays) {
  Difference of;
  for (uint32_t lane = 1; lane < kLanes; ++lane) of.shared().high[lane] = 1.0 + lane;
  of.own().bound[0] = 0;
  const double before = of.out->high[0];
  nudge_factor(*of.operands, 1, 1, *of.out);
  EXPECT_EQ(of.out->high[0], before);
}

}  // namespace
}  // namespace gpuemu::emulator
