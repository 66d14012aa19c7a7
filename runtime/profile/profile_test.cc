#include "runtime/profile/profile.h"

#include <array>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

/// Two instructions of line 7 and one of line 9, two blocks with an edge taken `times` times.
Profile profile_of(uint64_t times) {
  auto places = std::make_shared<ProfilePlaces>();
  places->functions = {"k"};
  places->instructions = {{0, 10, "a.cu", 7, "ld.global.f32", "memory"},
                          {0, 11, "a.cu", 7, "add.f32", "arithmetic"},
                          {0, 12, "a.cu", 9, "ret", "control"}};
  places->blocks = {{1, 0, 0, 1}, {2, 0, 2, 2}};
  places->edges = {{77, 0, 1}};
  Profile made{places, {}};
  made.counts.instructions.resize(3);
  made.counts.instructions[0] = {2, 40, 0, {2, 160, 8, 4, 0, 0, 0}};
  made.counts.instructions[1] = {2, 40, 0, {}};
  made.counts.blocks.resize(2);
  made.counts.edges = {{times, times}};
  return made;
}

TEST(Profile, SumsTheInstructionsOfALine) {
  const std::vector<LineCount> lines = by_line(profile_of(1));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].line, 7u);
  EXPECT_EQ(lines[0].instructions, 2u);
  EXPECT_EQ(lines[0].count.threads, 80u);
  EXPECT_EQ(lines[0].count.memory.sectors, 8u);
  EXPECT_EQ(lines[1].count.threads, 0u);
}

TEST(Profile, AddsTheLinesOfSeveralLaunches) {
  std::vector<LineCount> all;
  add_lines(all, by_line(profile_of(1)));
  add_lines(all, {{"a.cu", 8, 1, {}}, {"a.cu", 9, 1, {1, 32, 0, {}}}});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].line, 7u);
  EXPECT_EQ(all[1].line, 8u);
  EXPECT_EQ(all[2].count.threads, 32u);
  EXPECT_EQ(all[2].instructions, 2u);
}

TEST(Profile, NamesTheGroupsThatRan) {
  const std::vector<GroupCount> groups = by_group(profile_of(1));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].group, "arithmetic");
  EXPECT_EQ(groups[1].threads, 40u);
}

TEST(Profile, StatesSharesOfLanesAndOfBytes) {
  const InstructionCount count = profile_of(1).counts.instructions[0];
  EXPECT_DOUBLE_EQ(lanes_active(count), 40.0 / 64);
  EXPECT_DOUBLE_EQ(coalescing(count.memory), 160.0 / 256);
  EXPECT_EQ(lanes_active({}), 1);
  EXPECT_EQ(coalescing({}), 1);
}

TEST(Profile, MarksAnEdgeOncePerSizeOfItsCount) {
  std::array<uint8_t, 64> map{};
  EXPECT_EQ(mark_edges(profile_of(0), map), 0u);
  EXPECT_EQ(mark_edges(profile_of(1), map), 1u);
  EXPECT_EQ(mark_edges(profile_of(1), map), 0u);
  EXPECT_EQ(mark_edges(profile_of(3), map), 1u);
  EXPECT_EQ(mark_edges(profile_of(4), map), 1u);
  EXPECT_EQ(mark_edges(profile_of(7), map), 0u);
  EXPECT_EQ(mark_edges(profile_of(31), map), 1u);
  EXPECT_EQ(mark_edges(profile_of(127), map), 1u);
  EXPECT_EQ(mark_edges(profile_of(1'000'000), map), 1u);
  EXPECT_EQ(map[77 % 64], 0x01 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80);
}

TEST(Profile, MarksNothingInAnEmptyMap) { EXPECT_EQ(mark_edges(profile_of(3), {}), 0u); }

}  // namespace
}  // namespace gpuemu
