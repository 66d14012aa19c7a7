#include "common/base/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuemu {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

uint64_t file_bytes(const Arena& arena) {
  struct stat info{};
  EXPECT_EQ(::fstat(arena.fd(), &info), 0);
  return static_cast<uint64_t>(info.st_size);
}

TEST(SharedMemory, GrowingItTakesNothingAwayThatAnotherProcessAdded) {
  auto ours = Arena::create();
  ASSERT_TRUE(ours);
  ASSERT_TRUE(ours->grow(1));
  auto theirs = Arena::open(UniqueFd(::fcntl(ours->fd(), F_DUPFD_CLOEXEC, 0)));
  ASSERT_TRUE(theirs);
  ASSERT_TRUE(theirs->grow(5 * kMiB));
  theirs->range(4 * kMiB, 1)->front() = std::byte{7};
  ASSERT_TRUE(ours->grow(2 * kMiB));
  EXPECT_EQ(file_bytes(*ours), 5 * kMiB);
  EXPECT_EQ(ours->range(4 * kMiB, 1)->front(), std::byte{7});
}

TEST(SharedMemory, NobodyCanShortenIt) {
  auto arena = Arena::create();
  ASSERT_TRUE(arena);
  ASSERT_TRUE(arena->grow(2 * kMiB));
  EXPECT_NE(::ftruncate(arena->fd(), kMiB), 0);
  EXPECT_EQ(file_bytes(*arena), 2 * kMiB);
}

TEST(SharedMemory, WhatLiesOutsideIsRefused) {
  auto arena = Arena::create();
  ASSERT_TRUE(arena);
  ASSERT_TRUE(arena->grow(1));
  EXPECT_TRUE(arena->range(kMiB - 1, 1));
  EXPECT_FALSE(arena->range(kMiB, 1));
  EXPECT_FALSE(arena->range(1, ~uint64_t{0}));
}

}  // namespace
}  // namespace gpuemu
