// Tests the queue with many producers and one consumer.
#include "daemon/campaign/batch_queue.h"

#include <thread>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(BatchQueue, GivesEverythingThatWaitsAtOnceAndInOrder) {
  BatchQueue<int> queue(10, 100);
  for (int i = 0; i < 5; ++i) queue.push(i, 1);
  EXPECT_EQ(queue.take_all(), (std::vector<int>{0, 1, 2, 3, 4}));
  queue.push(5, 1);
  queue.close();
  EXPECT_EQ(queue.take_all(), std::vector<int>{5});
  EXPECT_TRUE(queue.take_all().empty());
}

TEST(BatchQueue, LingersForMoreUntilItIsHalfFullOrClosed) {
  constexpr std::chrono::minutes kForever{1};
  BatchQueue<int> queue(8, 100);
  queue.push(0, 1);
  std::thread pusher([&queue] {
    for (int i = 1; i < 4; ++i) queue.push(i, 1);
  });
  EXPECT_EQ(queue.take_all(kForever), (std::vector<int>{0, 1, 2, 3})) << "half of 8";
  pusher.join();
  queue.push(4, 50);
  EXPECT_EQ(queue.take_all(kForever), std::vector<int>{4}) << "half of the bytes";
  queue.push(5, 1);
  std::thread closer([&queue] { queue.close(); });
  EXPECT_EQ(queue.take_all(kForever), std::vector<int>{5});
  closer.join();
}

TEST(BatchQueue, OneItemFitsHoweverLargeItIs) {
  BatchQueue<int> queue(10, 100);
  queue.push(1, 1'000);
  EXPECT_EQ(queue.take_all().size(), 1u);
}

TEST(BatchQueue, LeavesAnItemThatWouldHaveToWait) {
  BatchQueue<std::vector<int>> queue(2, 100);
  std::vector<int> first{1}, second{2}, third{3};
  EXPECT_TRUE(queue.try_push(first, 60));
  EXPECT_FALSE(queue.try_push(second, 60)) << "too many bytes";
  EXPECT_TRUE(queue.try_push(second, 1));
  EXPECT_FALSE(queue.try_push(third, 1)) << "too many items";
  EXPECT_EQ(third, std::vector<int>{3});
  EXPECT_EQ(queue.take_all(), (std::vector<std::vector<int>>{{1}, {2}}));
  EXPECT_TRUE(queue.try_push(third, 1'000));
}

TEST(BatchQueue, NeverHoldsMoreThanItsLimitsAndLosesNothing) {
  constexpr int kPushers = 4, kEach = 200;
  BatchQueue<int> queue(3, 10);
  std::vector<std::thread> pushers;
  for (int pusher = 0; pusher < kPushers; ++pusher) {
    pushers.emplace_back([&queue, pusher] {
      for (int i = 0; i < kEach; ++i) queue.push(pusher * kEach + i, 4);
    });
  }
  std::vector<int> seen(kPushers * kEach);
  std::vector<int> last(kPushers, -1);
  for (int taken = 0; taken < kPushers * kEach;) {
    const std::vector<int> batch = queue.take_all();
    EXPECT_LE(batch.size(), 2u) << "a third would have 12 bytes";
    for (const int item : batch) {
      ++seen[static_cast<size_t>(item)];
      int& before = last[static_cast<size_t>(item / kEach)];
      EXPECT_LT(before, item) << "out of order";
      before = item;
    }
    taken += static_cast<int>(batch.size());
  }
  for (std::thread& pusher : pushers) pusher.join();
  EXPECT_EQ(seen, std::vector<int>(kPushers * kEach, 1));
}

}  // namespace
}  // namespace gpuemu
