// Features of executions, and sets of them.
#include "runtime/profile/reach_set.h"

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

bool same(const LaunchCoverage& a, const LaunchCoverage& b) {
  return features_of(a) == features_of(b);
}

TEST(Features, TellTripCountsApartByMagnitude) {
  EXPECT_TRUE(same(loop(5), loop(7)));
  EXPECT_FALSE(same(loop(3), loop(4)));
  EXPECT_FALSE(same(loop(0), loop(1)));
  EXPECT_TRUE(same(loop(1000), loop(1'000'000)));
}

TEST(Features, TellFullWarpsFromPartialOnesAndSingleThreads) {
  EXPECT_FALSE(same(loop(4, 32), loop(4, 31)));
  EXPECT_TRUE(same(loop(4, 30), loop(4, 31)));
  EXPECT_FALSE(same(loop(4, 1), loop(4, 2)));
}

TEST(Features, DoNotGrowWithTheNumberOfWarps) {
  LaunchCoverage many = loop(4);
  many.warps = 10;
  for (CoveredEdge& edge : many.edges) {
    edge.warps *= 10;
    edge.threads *= 10;
  }
  EXPECT_TRUE(same(many, loop(4)));
}

TEST(Features, AreSortedAndBelowTheirLimit) {
  const std::vector<uint32_t> features = features_of(loop(5));
  EXPECT_TRUE(std::ranges::is_sorted(features));
  EXPECT_GE(features.size(), 5u);
  EXPECT_LT(features.back(), kFeatures);
}

TEST(ReachSet, TellsWhatIsNew) {
  ReachSet known;
  EXPECT_TRUE(known.has_all({}));
  EXPECT_TRUE(known.bytes().empty());
  const std::vector<uint32_t> some = {0, 7, 8, kFeatures - 1};
  EXPECT_FALSE(known.has_all(some));
  EXPECT_EQ(known.add(some), 4u);
  EXPECT_EQ(known.add(some), 0u);
  EXPECT_TRUE(known.has_all(some));
  EXPECT_FALSE(known.has_all(std::vector<uint32_t>{7, 9}));
  EXPECT_EQ(known.add(std::vector<uint32_t>{7, 9}), 1u);
}

TEST(ReachSet, GoesThroughItsBytes) {
  ReachSet known;
  known.add(std::vector<uint32_t>{3, 500});
  EXPECT_EQ(known.bytes().size(), kFeatures / 8);
  EXPECT_TRUE(ReachSet(known.bytes()).has_all(std::vector<uint32_t>{3, 500}));
  EXPECT_FALSE(ReachSet(known.bytes()).has_all(std::vector<uint32_t>{4}));
  EXPECT_FALSE(ReachSet({std::byte{255}}).has_all(std::vector<uint32_t>{3}));
}

}  // namespace
}  // namespace gpuemu
