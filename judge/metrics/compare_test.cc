// Tests what counts as a regression, as a warning, and as merely different.
#include "judge/metrics/compare.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

ArtifactMetrics plain(uint32_t registers, uint32_t spills, uint32_t local, uint32_t instructions) {
  return {.kernel_name = "k",
          .register_count = registers,
          .spill_count = spills,
          .local_memory_bytes = local,
          .instruction_count = instructions};
}

ArtifactMetrics compiled(uint32_t registers, uint32_t spilled, double occupancy = 1) {
  ArtifactMetrics metrics = plain(10, 0, 0, 100);
  CompiledMetrics one;
  one.arch = std::string("sm_80");
  one.registers = registers;
  one.spill_load_bytes = spilled;
  one.occupancy = Occupancy{256, 0, 8, 64, 64, occupancy, OccupancyLimiter::Warps};
  metrics.compiled = {one};
  return metrics;
}

std::string verdict_of(const ArtifactDiff& diff, const std::string& metric) {
  for (const MetricChange& change : diff.changes) {
    if (change.metric == metric) return std::string(name_of(change.verdict));
  }
  return "";
}

TEST(CompareArtifacts, CountsGrowthOfRegistersSpillsOrLocalMemoryAsRegression) {
  const ArtifactMetrics before = plain(10, 1, 16, 100);
  struct Row {
    ArtifactMetrics after;
    bool regression;
  };
  const Row rows[] = {{plain(11, 1, 16, 100), true}, {plain(10, 2, 16, 100), true},
                      {plain(10, 1, 17, 100), true}, {plain(10, 1, 16, 900), false},
                      {plain(9, 0, 0, 100), false},  {plain(10, 1, 16, 100), false}};
  for (const Row& row : rows) {
    const ArtifactDiff diff = compare_artifacts(&before, row.after, 0.1);
    EXPECT_EQ(diff.is_regression, row.regression);
    EXPECT_EQ(diff.register_delta, int64_t{row.after.register_count} - 10);
    EXPECT_EQ(diff.instruction_delta, int64_t{row.after.instruction_count} - 100);
  }
}

TEST(CompareArtifacts, WithoutABaselineChangesNothing) {
  const ArtifactDiff diff = compare_artifacts(nullptr, plain(1, 2, 3, 4), 0.1);
  EXPECT_FALSE(diff.baseline || diff.is_regression);
  EXPECT_EQ(diff.register_delta, 0);
}

TEST(CompareArtifacts, LetsWhatPtxasMadeDecideWhereBothSidesKnowIt) {
  ArtifactMetrics after = compiled(24, 0);
  after.register_count = 99;  // Virtual ones.
  const ArtifactMetrics before = compiled(24, 0);
  EXPECT_FALSE(compare_artifacts(&before, after, 0.1).is_regression);
  EXPECT_EQ(verdict_of(compare_artifacts(&before, after, 0.1), "virtual registers"), "warning");
  const ArtifactDiff grown = compare_artifacts(&before, compiled(30, 0), 0.1);
  EXPECT_TRUE(grown.is_regression);
  EXPECT_EQ(grown.changes.at(0).metric, "registers");
  EXPECT_EQ(grown.changes.at(0).percent, 25);
  const ArtifactDiff spilled = compare_artifacts(&before, compiled(24, 8), 0.1);
  EXPECT_TRUE(spilled.is_regression);
  EXPECT_EQ(spilled.changes.at(0).percent, std::nullopt);
}

TEST(CompareArtifacts, WarnsAboveTheThresholdAndNotBelow) {
  const ArtifactMetrics before = plain(10, 0, 0, 100);
  EXPECT_EQ(verdict_of(compare_artifacts(&before, plain(10, 0, 0, 110), 0.1), "instructions"),
            "change");
  EXPECT_EQ(verdict_of(compare_artifacts(&before, plain(10, 0, 0, 111), 0.1), "instructions"),
            "warning");
  EXPECT_EQ(verdict_of(compare_artifacts(&before, plain(10, 0, 0, 50), 0.1), "instructions"),
            "improvement");
}

TEST(CompareArtifacts, KnowsThatMoreOccupancyIsBetter) {
  const ArtifactMetrics before = compiled(24, 0, 0.5), after = compiled(24, 0, 1);
  EXPECT_EQ(verdict_of(compare_artifacts(&before, after, 0.1), "occupancy"), "improvement");
  EXPECT_EQ(verdict_of(compare_artifacts(&after, before, 0.1), "occupancy"), "warning");
}

TEST(CompareArtifacts, NamesLiteralsThatCameAndWent) {
  ArtifactMetrics before = plain(1, 0, 0, 1), after = before;
  before.ptx.emplace().constants = {{"0.5f", 1}, {"2f", 1}};
  after.ptx.emplace().constants = {{"0.25f", 1}, {"2f", 3}};
  const std::vector<std::string> expected = {"0.5f is gone", "0.25f is new"};
  EXPECT_EQ(compare_artifacts(&before, after, 0.1).constants, expected);
}

TEST(CompareAll, TellsWhichKernelsAreGone) {
  ArtifactMetrics other = plain(1, 0, 0, 1);
  other.kernel_name = std::string("gone");
  const ArtifactDiffSummary summary =
      compare_all({plain(10, 0, 0, 1), other}, {plain(12, 0, 0, 1)}, 0.1);
  EXPECT_TRUE(summary.has_regressions);
  EXPECT_EQ(summary.missing, std::vector<std::string>{"gone"});
}

}  // namespace
}  // namespace gpuemu
