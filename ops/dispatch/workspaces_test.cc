// Tests which calls share a workspace, and which wait for others.
#include "ops/dispatch/workspaces.h"

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

class WorkspacesTest : public testing::Test {
 protected:
  uint64_t once(uint64_t bytes, StreamId stream) {
    const auto turn = workspaces_.take(bytes, stream);
    EXPECT_TRUE(turn) << turn.error().message;
    return turn->address;
  }
  uint64_t used() const {
    const MemoryInfo now = *device_->memory();
    return now.total_bytes - now.free_bytes;
  }

  const std::unique_ptr<Device> device_ = *open_device({.backend = "emulator", .threads = 1});
  Workspaces workspaces_{*device_};
};

TEST_F(WorkspacesTest, LetsASecondCallOfAStreamWaitUntilTheFirstIsIssued) {
  std::string order;
  std::thread other;
  {
    const auto turn = workspaces_.take(64, 16);
    ASSERT_TRUE(turn);
    const uint64_t address = turn->address;
    once(64, 17);  // Another stream: nothing is waited for.
    other = std::thread([&, address] {
      const auto second = workspaces_.take(64, 16);
      EXPECT_EQ(second->address, address);
      order += "second";
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    order += "first ";
  }
  other.join();
  EXPECT_EQ(order, "first second");
}

TEST_F(WorkspacesTest, GrowsToTheLargestCallAndFreesWhatBecameTooSmall) {
  const uint64_t before = used();
  once(64, 16);
  const uint64_t small = used() - before;
  const uint64_t large = once(1 << 20, 16);
  EXPECT_EQ(once(64, 16), large);
  EXPECT_GE(used() - before, uint64_t{1} << 20);
  EXPECT_LT(used() - before, (uint64_t{1} << 20) + small);
  ASSERT_TRUE(workspaces_.forget(16));
  EXPECT_EQ(used(), before);
}

TEST_F(WorkspacesTest, KeepsOneForEachCapturedCall) {
  EXPECT_NE(workspaces_.keep(64, 7)->address, workspaces_.keep(64, 7)->address);
}

}  // namespace
}  // namespace gpuemu
