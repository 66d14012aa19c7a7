// What outlives allocations: race histories, and marks of defined bytes.
#include "runtime/emulator/memory/memory.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/emulator/memory/race_cell.h"

namespace gpuemu::emulator {
namespace {

constexpr uint64_t kBytes = 4096, kWords = kBytes / 4;

class Histories : public testing::Test {
 protected:
  /// Allocates a buffer as a launch sees it.
  Allocation& launch_with(uint64_t bytes) {
    address_ = *memory_.allocate(bytes, "buffer");
    memory_.keep_histories();
    return *memory_.find(address_, bytes);
  }
  /// Records an access to each word, and ends the launch.
  void access_all(Allocation& buffer) {
    for (uint64_t word = 0; word < kWords; ++word) {
      buffer.races.writes[word] = cell_of({.segment = memory_.segments});
      buffer.races.reads[word] = cell_of({.segment = memory_.segments});
      buffer.rows[word / kRowWords].writes[0] = cell_of({.segment = memory_.segments});
    }
    ++memory_.segments;
    EXPECT_TRUE(memory_.free(address_).ok());
  }
  Memory memory_{uint64_t{1} << 30};
  uint64_t address_ = 0;
};

TEST_F(Histories, ALaterBufferTakesThemAndSeesOnlyEarlierLaunches) {
  Allocation& first = launch_with(kBytes);
  const uint64_t* const cells = first.races.writes.get();
  access_all(first);
  Allocation& second = launch_with(kBytes - 8);
  EXPECT_EQ(second.races.writes.get(), cells) << "it was not made anew";
  EXPECT_EQ(second.rows, second.races.rows.get());
  for (uint64_t word = 0; word < kWords - 2; ++word) {
    ASSERT_LT(segment_in(second.races.writes[word]), memory_.segments);
    ASSERT_LT(segment_in(second.races.reads[word]), memory_.segments);
  }
}

TEST_F(Histories, ABufferThatIsLargerOrMuchSmallerGetsItsOwn) {
  access_all(launch_with(kBytes));
  EXPECT_EQ(launch_with(4 * kBytes).races.writes[0], 0u);
  EXPECT_EQ(launch_with(kBytes / 16).races.writes[0], 0u);
}

TEST_F(Histories, AreForgottenWhereSegmentsAreNumberedAnew) {
  access_all(launch_with(kBytes));
  memory_.segments = ~uint32_t{0};
  Allocation& next = launch_with(kBytes);
  EXPECT_EQ(memory_.segments, 1u);
  for (uint64_t word = 0; word < kWords; ++word) ASSERT_EQ(next.races.writes[word], 0u);
  EXPECT_EQ(next.rows[0].writes[0], 0u);
}

TEST(BlankBuffers, AreAsUploadedWhateverWasThereBefore) {
  Memory memory(uint64_t{1} << 30);
  const std::vector<std::byte> content(kBytes - 64, std::byte{7});
  for (int round = 0; round < 2; ++round) {
    // Leaves marks of which some are set and some are not.
    const uint64_t before = *memory.allocate(kBytes, "before");
    ASSERT_TRUE(memory.fill(before, std::byte{1}, kBytes / 2).ok());
    ASSERT_TRUE(memory.free(before).ok());
    const uint64_t address = *memory.allocate(content.size(), "blank", Memory::Kind::Blank);
    ASSERT_TRUE(memory.upload(address, content).ok());
    ASSERT_TRUE(memory.forget(address + 8, 16).ok());
    const Allocation& blank = *memory.find(address, content.size());
    ASSERT_EQ(blank.defined.size(), content.size());
    for (uint64_t at = 0; at < content.size(); ++at) {
      ASSERT_EQ(blank.defined[at], at < 8 || at >= 24 ? 1 : 0) << at;
    }
    std::vector<std::byte> read(content.size());
    ASSERT_TRUE(memory.download(read, address).ok());
    EXPECT_EQ(read, content);
    ASSERT_TRUE(memory.free(address).ok());
  }
}

TEST(BlankBuffers, LeaveNoMarksInOtherBuffers) {
  Memory memory(uint64_t{1} << 30);
  const std::vector<std::byte> content(kBytes);
  const uint64_t address = *memory.allocate(kBytes, "blank", Memory::Kind::Blank);
  ASSERT_TRUE(memory.upload(address, content).ok());
  ASSERT_TRUE(memory.free(address).ok());
  const uint64_t next = *memory.allocate(kBytes, "buffer");
  const Allocation& buffer = *memory.find(next, kBytes);
  EXPECT_EQ(std::ranges::count(buffer.defined, 0), static_cast<std::ptrdiff_t>(kBytes));
}

}  // namespace
}  // namespace gpuemu::emulator
