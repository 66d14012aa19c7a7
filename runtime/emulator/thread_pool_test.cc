#include "runtime/emulator/thread_pool.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <xmmintrin.h>

namespace gpuemu::emulator {
namespace {

TEST(ThreadPool, NobodyIsAtWorkOnceItReturns) {
  ThreadPool thread_pool;
  for (int launch = 0; launch < 500; ++launch) {
    std::atomic<int> left = 40, inside = 0, done = 0;
    thread_pool.run(3, [&](const auto& call_others) {
      if (call_others) call_others();
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
  thread_pool.run(2, [&](const auto& call_others) {
    if (call_others) call_others();
    ++present;
    while (present.load() < 3) std::this_thread::yield();
  });
  EXPECT_EQ(present.load(), 3);
}

TEST(ThreadPool, WithoutAnyTheCallerDoesItAlone) {
  ThreadPool thread_pool;
  std::thread::id worker;
  thread_pool.run(0, [&](const auto& call_others) {
    EXPECT_FALSE(call_others);
    worker = std::this_thread::get_id();
  });
  EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(ThreadPool, ComputesInTheDefaultModeWhateverTheCallersIs) {
  constexpr unsigned int kControl = 0xffc0, kFlushesAndRoundsUp = 0x8040 | 0x4000;
  const unsigned int before = _mm_getcsr();
  _mm_setcsr(before | kFlushesAndRoundsUp);
  {
    ThreadPool thread_pool;
    std::atomic<int> present = 0, wrong = 0;
    thread_pool.run(2, [&](const auto& call_others) {
      if (call_others) call_others();
      wrong += (_mm_getcsr() & kControl) != 0x1f80;
      ++present;
      while (present.load() < 3) std::this_thread::yield();
    });
    EXPECT_EQ(wrong.load(), 0);
  }
  const unsigned int after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & kFlushesAndRoundsUp, kFlushesAndRoundsUp) << "the caller keeps its own";
}

TEST(ThreadPool, NobodyComesUncalled) {
  ThreadPool thread_pool;
  for (int launch = 0; launch < 100; ++launch) {
    std::atomic<int> present = 0;
    const bool calls = launch % 2 == 0;
    thread_pool.run(3, [&](const auto& call_others) {
      if (call_others && calls) call_others();
      ++present;
      // Threads that a launch before woke late must not join this one.
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    });
    if (!calls) {
      ASSERT_EQ(present.load(), 1);
    }
  }
}

}  // namespace
}  // namespace gpuemu::emulator
