// Tests the coverage of launches, with counts written by hand.
#include "runtime/profile/coverage.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

/// Kernel k: block 0 (lines 1 and 2) branches to block 1 (line 3) and 2 (line 4); kernel other: one
/// block, line 9.
Profile profile_of(uint64_t left, uint64_t right) {
  ProfilePlaces places;
  places.functions = {"k", "other"};
  const auto add = [&](uint32_t function, uint32_t line) {
    places.instructions.push_back(
        {.function = function, .ptx_line = 100 + line, .file = "k.cu", .line = line});
  };
  for (const uint32_t line : {1, 2, 3, 4}) add(0, line);
  add(1, 9);
  places.blocks = {{10, 0, 0, 1}, {11, 0, 2, 2}, {12, 0, 3, 3}, {13, 1, 4, 4}};
  places.edges = {{20, 0, 1}, {21, 0, 2}, {22, 1, 2}};
  Profile profile;
  profile.places = std::make_shared<const ProfilePlaces>(std::move(places));
  profile.counts.instructions.resize(5);
  profile.counts.instructions[0].threads = left + right;
  profile.counts.instructions[2].threads = left;
  profile.counts.blocks = {{2, left + right}, {1, left}, {2, left + right}, {0, 0}};
  profile.counts.edges = {{1, left}, {1, right}, {1, left}};
  return profile;
}

TEST(LaunchCoverage, ShowsTheWaysOfEachBranchWithTheirLines) {
  const std::string others[] = {"other"};
  const LaunchCoverage reached = coverage_of(profile_of(40, 0), "k", others);
  EXPECT_EQ(reached.warps, 2u);
  ASSERT_EQ(reached.edges.size(), 3u);
  const CoveredEdge &taken = reached.edges[0], &never = reached.edges[1];
  EXPECT_TRUE(taken.is_branch && never.is_branch);
  EXPECT_FALSE(reached.edges[2].is_branch);
  EXPECT_EQ(taken.line, 2u);
  EXPECT_EQ(taken.branch, never.branch);
  EXPECT_EQ(taken.way, 0u);
  EXPECT_EQ(never.way, 1u);
  EXPECT_EQ(never.to_line, 4u);
  EXPECT_EQ(taken.threads, 40u);
  EXPECT_EQ(never.threads, 0u);
}

TEST(LaunchCoverage, LeavesOutOtherKernelsOfTheModule) {
  const std::string others[] = {"other"};
  const LaunchCoverage reached = coverage_of(profile_of(1, 1), "k", others);
  EXPECT_EQ(reached.lines.size(), 4u);
  EXPECT_EQ(reached.blocks.size(), 3u);
  EXPECT_EQ(coverage_of(profile_of(1, 1), "k", {}).lines.size(), 5u);
}

TEST(LaunchCoverage, HasNoLinesWhereNobodyCountedThem) {
  const LaunchCoverage all = coverage_of(profile_of(40, 0), "k", {});
  const LaunchCoverage reached = coverage_of(profile_of(40, 0), "k", {}, false);
  EXPECT_TRUE(reached.lines.empty());
  EXPECT_EQ(reached.warps, all.warps);
  EXPECT_EQ(reached.blocks.size(), all.blocks.size());
  EXPECT_EQ(reached.edges.size(), all.edges.size());
}

TEST(LaunchCoverage, AddsLaunches) {
  LaunchCoverage sum = coverage_of(profile_of(40, 0), "k", {});
  merge_coverage(sum, coverage_of(profile_of(2, 3), "k", {}));
  EXPECT_EQ(sum.edges[0].threads, 42u);
  EXPECT_EQ(sum.edges[1].threads, 3u);
  EXPECT_EQ(sum.blocks[0].threads, 45u);
  EXPECT_EQ(sum.warps, 4u);
}

}  // namespace
}  // namespace gpuemu
