// Race histories that outlive their allocations.
#include "runtime/emulator/memory/memory.h"

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
      buffer.last_writes[word] = cell_of({.segment = memory_.segments});
      buffer.last_reads[word] = cell_of({.segment = memory_.segments});
    }
    ++memory_.segments;
    EXPECT_TRUE(memory_.free(address_).ok());
  }
  Memory memory_{uint64_t{1} << 30};
  uint64_t address_ = 0;
};

TEST_F(Histories, ALaterBufferTakesThemAndSeesOnlyEarlierLaunches) {
  Allocation& first = launch_with(kBytes);
  const uint64_t* const cells = first.last_writes.get();
  access_all(first);
  Allocation& second = launch_with(kBytes - 8);
  EXPECT_EQ(second.last_writes.get(), cells) << "it was not made anew";
  for (uint64_t word = 0; word < kWords - 2; ++word) {
    ASSERT_LT(segment_in(second.last_writes[word]), memory_.segments);
    ASSERT_LT(segment_in(second.last_reads[word]), memory_.segments);
  }
}

TEST_F(Histories, ABufferThatIsLargerOrMuchSmallerGetsItsOwn) {
  access_all(launch_with(kBytes));
  EXPECT_EQ(launch_with(4 * kBytes).last_writes[0], 0u);
  EXPECT_EQ(launch_with(kBytes / 16).last_writes[0], 0u);
}

TEST_F(Histories, AreForgottenWhereSegmentsAreNumberedAnew) {
  access_all(launch_with(kBytes));
  memory_.segments = ~uint32_t{0};
  Allocation& next = launch_with(kBytes);
  EXPECT_EQ(memory_.segments, 1u);
  for (uint64_t word = 0; word < kWords; ++word) ASSERT_EQ(next.last_writes[word], 0u);
}

}  // namespace
}  // namespace gpuemu::emulator
