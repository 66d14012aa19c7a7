#include "runtime/emulator/thread_pool.h"

#include <atomic>

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

TEST(ThreadPool, NobodyIsAtWorkOnceItReturns) {
  ThreadPool thread_pool;
  for (int launch = 0; launch < 500; ++launch) {
    std::atomic<int> left = 40, inside = 0, done = 0;
    thread_pool.run(3, [&] {
      ++inside;
      while (left.fetch_sub(1) > 0) ++done;
      --inside;
    });
    ASSERT_EQ(inside.load(), 0);
    ASSERT_EQ(done.load(), 40);
  }
}

TEST(ThreadPool, TheyShareWorkThatOneThreadWouldNotEnd) {
  ThreadPool thread_pool;
  std::atomic<int> present = 0;
  thread_pool.run(2, [&] {
    ++present;
    while (present.load() < 3) std::this_thread::yield();
  });
  EXPECT_EQ(present.load(), 3);
}

TEST(ThreadPool, WithoutAnyTheCallerDoesItAlone) {
  ThreadPool thread_pool;
  std::thread::id worker;
  thread_pool.run(0, [&] { worker = std::this_thread::get_id(); });
  EXPECT_EQ(worker, std::this_thread::get_id());
}

}  // namespace
}  // namespace gpuemu::emulator
