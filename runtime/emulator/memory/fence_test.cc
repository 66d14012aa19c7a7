#include "runtime/emulator/memory/fence.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/emulator/memory/memory.h"

namespace gpuemu::emulator {
namespace {

constexpr uint64_t kWide = uint64_t{64} << 10;

/// A system call reads the byte for us, and says whether we may.
bool host_can_read(uint64_t address) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const bool is_read = ::write(ends[1], reinterpret_cast<const void*>(address), 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return is_read;
}

/// Tests run one after another, because there is a single fence, which is removed at the end.
TEST(Fence, ShutsTheHostOutBetweenPiecesOfWork) {
  Fence& fence = Fence::instance();
  FencedMutex running;
  Memory memory(uint64_t{1} << 30, kWide), narrow(uint64_t{1} << 30);
  running.lock();
  const uint64_t before = *memory.allocate(100, "before the start");
  fence.start();
  const uint64_t address = *memory.allocate(100, "a"), other = *narrow.allocate(100, "b");
  EXPECT_TRUE(host_can_read(address));
  running.unlock();
  EXPECT_TRUE(fence.holds(address));
  EXPECT_FALSE(fence.holds(before));
  EXPECT_FALSE(fence.holds(other));
  EXPECT_FALSE(host_can_read(address));
  EXPECT_TRUE(host_can_read(before));
  EXPECT_TRUE(host_can_read(other));

  running.lock();
  EXPECT_TRUE(host_can_read(address));
  *reinterpret_cast<char*>(address) = 'x';
  fence.enter();  // Another device works as well.
  running.unlock();
  EXPECT_TRUE(host_can_read(address));
  fence.leave();
  EXPECT_FALSE(host_can_read(address));
  fence.open();
  EXPECT_EQ(*reinterpret_cast<char*>(address), 'x');

  // Returned ranges are reused, also merged with their neighbours.
  running.lock();
  const uint64_t second = *memory.allocate(100, "c"), third = *memory.allocate(100, "d");
  ASSERT_TRUE(memory.free(address));
  ASSERT_TRUE(memory.free(third));
  ASSERT_TRUE(memory.free(second));
  EXPECT_EQ(*memory.allocate(3 * kWide, "e"), address);
  running.unlock();
  EXPECT_FALSE(host_can_read(address));

  // The program has as much data as the system lets it have.
  rlimit before_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before_limit), 0);
  const rlimit small{.rlim_cur = kWide, .rlim_max = before_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &small), 0);
  const bool is_open = fence.open();
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &before_limit), 0);
  EXPECT_FALSE(is_open);
  EXPECT_FALSE(host_can_read(address));
  EXPECT_TRUE(fence.open());
  EXPECT_TRUE(host_can_read(address));

  fence.remove();
  EXPECT_TRUE(host_can_read(address));
  running.lock();
  EXPECT_FALSE(fence.holds(*memory.allocate(100, "f")));
  running.unlock();
  EXPECT_TRUE(host_can_read(address));
}

}  // namespace
}  // namespace gpuemu::emulator
