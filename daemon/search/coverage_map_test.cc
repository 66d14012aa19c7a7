// Features of executions and what they add up to.
#include "daemon/search/coverage_map.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

/// A loop of one warp: block 1, back edge 5 (line 3), way out 6.
LaunchCoverage loop(uint64_t trips, uint64_t lanes = 32) {
  LaunchCoverage reached;
  reached.warps = 1;
  reached.blocks = {{1, lanes}, {2, 0}};
  reached.edges = {{.id = 5,
                    .file = "k.cu",
                    .line = 3,
                    .is_branch = true,
                    .warps = trips,
                    .threads = trips * lanes},
                   {.id = 6,
                    .file = "k.cu",
                    .line = 3,
                    .is_branch = true,
                    .way = 1,
                    .to_line = 9,
                    .warps = 1,
                    .threads = lanes}};
  LineCount line{.file = "k.cu", .line = 3};
  line.count.threads = trips * lanes;
  reached.lines = {line};
  return reached;
}

TEST(CoverageMap, AddsUpAndShowsWhatNothingReached) {
  CoverageMap map;
  EXPECT_TRUE(map.empty());
  map.add(loop(0), "");
  map.add(loop(0), "");
  EXPECT_EQ(map.blocks(), 1u);
  EXPECT_EQ(map.blocks_total(), 2u);
  EXPECT_EQ(map.edges(), 1u);
  const std::vector<BranchWay> ways = map.branches();
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_EQ(ways[0].hits, 0u);
  EXPECT_EQ(ways[1], (BranchWay{"k.cu", 3, 0, 1, 9, 64}));
  ASSERT_EQ(map.lines().size(), 1u);
  EXPECT_EQ(map.lines()[0].hits, 0u);
  map.add(loop(2), "");
  EXPECT_EQ(map.edges(), 2u);
  EXPECT_EQ(map.lines()[0].hits, 64u);
}

TEST(CoverageMap, LinesOfPtxWithoutAFileBelongToItsSource) {
  LaunchCoverage reached = loop(1);
  for (CoveredEdge& edge : reached.edges) edge.file.clear();
  reached.lines[0].file.clear();
  CoverageMap map;
  map.add(reached, "k.ptx");
  EXPECT_EQ(map.lines()[0].file, "k.ptx");
  EXPECT_EQ(map.branches()[0].file, "k.ptx");
}

}  // namespace
}  // namespace gpuemu
