// Tests extents of foreign memory: pieces where they overlap, and what remains when some are
// removed.
#include "runtime/device/foreign_memory.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(ForeignMemoryTest, OverlappingExtentsAreOnePieceUntilTheyGo) {
  ForeignMemory memory;
  memory.add(100, 10);
  memory.add(110, 10);
  EXPECT_EQ(memory.pieces(), (std::map<uint64_t, uint64_t>{{100, 110}, {110, 120}}))
      << "neighbours are two";
  EXPECT_FALSE(memory.contains(105, 10));
  memory.add(105, 10);
  EXPECT_EQ(memory.pieces(), (std::map<uint64_t, uint64_t>{{100, 120}}));
  EXPECT_TRUE(memory.contains(105, 15));
  EXPECT_FALSE(memory.contains(105, 16));
  EXPECT_FALSE(memory.contains(99, 1));
  memory.add(100, 10);
  EXPECT_TRUE(memory.remove(105, 10));
  EXPECT_FALSE(memory.remove(105, 10));
  EXPECT_TRUE(memory.remove(100, 10));
  EXPECT_TRUE(memory.contains(100, 10)) << "it was added twice";
  EXPECT_TRUE(memory.remove(100, 10));
  EXPECT_EQ(memory.pieces(), (std::map<uint64_t, uint64_t>{{110, 120}}));
}

}  // namespace
}  // namespace gpuemu
