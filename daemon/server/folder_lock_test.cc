#include "daemon/server/folder_lock.h"

#include <chrono>
#include <future>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuemu {
namespace {

class FolderLockTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/gpuemu-lock-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    root_ = pattern;
    folder_ = root_ / "a" / "db";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_, folder_;
};

TEST_F(FolderLockTest, ASecondDaemonIsToldProcessAndSocketAtOnce) {
  auto first = FolderLock::take(folder_);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(first->serves("/run/g.sock"));
  const auto second = FolderLock::take(folder_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Unavailable);
  EXPECT_NE(
      second.error().message.find("process " + std::to_string(::getpid()) + ", at /run/g.sock"),
      std::string::npos)
      << second.error().message;
}

TEST_F(FolderLockTest, WhileTheFirstStartsTheSecondWaits) {
  auto first = FolderLock::take(folder_);
  ASSERT_TRUE(first);
  auto second = std::async(std::launch::async, [&] { return FolderLock::take(folder_).ok(); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  ASSERT_TRUE(first->serves("/run/g.sock"));
  EXPECT_FALSE(second.get());
}

TEST_F(FolderLockTest, WhenTheFirstGivesUpTheSecondTakesOver) {
  auto second = std::future<bool>();
  {
    auto first = FolderLock::take(folder_);
    ASSERT_TRUE(first);
    second = std::async(std::launch::async, [&] { return FolderLock::take(folder_).ok(); });
    EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  }
  EXPECT_TRUE(second.get());
}

TEST_F(FolderLockTest, AFolderThatCannotBeMadeIsNamed) {
  const auto lock = FolderLock::take("/proc/no/such/folder");
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().message.find("/proc/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu
