// Outcomes of many threads, taken in order.
#include "daemon/search/in_order.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

using Queue = InOrder<int>;

TEST(InOrder, TakesOutcomesInTheOrderOfTheirPlaces) {
  std::vector<std::pair<uint64_t, int>> taken;
  Queue queue(
      4, 100, [](uint64_t) { return uint64_t{0}; },
      [&](uint64_t place, int outcome) {
        taken.emplace_back(place, outcome);
        return true;
      });
  const std::atomic<bool> cancel{false};
  for (uint64_t place = 0; place < 4; ++place) EXPECT_EQ(queue.begin(cancel), place);
  EXPECT_EQ(queue.begin(cancel), std::nullopt);
  queue.end(2, 20, 0);
  queue.end(1, 10, 0);
  EXPECT_TRUE(taken.empty());
  queue.end(0, 0, 0);
  queue.end(3, 30, 0);
  EXPECT_EQ(taken, (std::vector<std::pair<uint64_t, int>>{{0, 0}, {1, 10}, {2, 20}, {3, 30}}));
}

TEST(InOrder, APlaceWaitsForThoseThatItNeeds) {
  Queue queue(
      3, 100, [](uint64_t place) { return place == 2 ? uint64_t{1} : uint64_t{0}; },
      [](uint64_t, int) { return true; });
  std::atomic<bool> cancel{false};
  EXPECT_EQ(queue.begin(cancel), 0u);
  EXPECT_EQ(queue.begin(cancel), 1u);
  queue.end(1, 0, 0);  // Not the place that is needed.
  std::atomic<bool> begun{false};
  std::jthread waiting([&] { begun = queue.begin(cancel) == 2u; });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(begun);
  queue.end(0, 0, 0);
  waiting.join();
  EXPECT_TRUE(begun);
}

TEST(InOrder, SaysHowManyPlacesMayBegin) {
  // Epochs of four places: each needs the one before the one before it.
  Queue queue(
      12, 100, [](uint64_t place) { return place < 8 ? uint64_t{0} : place / 4 * 4 - 4; },
      [](uint64_t, int) { return true; });
  const std::atomic<bool> cancel{false};
  EXPECT_EQ(queue.ready(100), 8u);
  EXPECT_EQ(queue.ready(5), 5u);
  for (uint64_t place = 0; place < 4; ++place) {
    EXPECT_EQ(queue.begin(cancel), place);
    EXPECT_EQ(queue.ready(100), 7 - place);
  }
  for (int place = 3; place > 0; --place) queue.end(static_cast<uint64_t>(place), place, 0);
  EXPECT_EQ(queue.ready(100), 4u);
  queue.end(0, 0, 0);
  EXPECT_EQ(queue.ready(100), 8u);
  queue.stop_before(6);
  EXPECT_EQ(queue.ready(100), 2u);
}

TEST(InOrder, SaysAtOnceThatAPlaceHasToWait) {
  Queue queue(
      3, 100, [](uint64_t place) { return place == 1 ? uint64_t{1} : uint64_t{0}; },
      [](uint64_t, int) { return true; });
  EXPECT_EQ(queue.begin_now(), 0u);
  EXPECT_EQ(queue.begin_now(), std::nullopt);
  queue.end(0, 0, 0);
  EXPECT_EQ(queue.begin_now(), 1u);
  EXPECT_EQ(queue.begin_now(), 2u);
  EXPECT_EQ(queue.begin_now(), std::nullopt) << "there are no more";
}

TEST(InOrder, NothingBeginsWhileTooMuchWaits) {
  Queue queue(9, 100, [](uint64_t) { return uint64_t{0}; }, [](uint64_t, int) { return true; });
  std::atomic<bool> cancel{false};
  EXPECT_EQ(queue.begin(cancel), 0u);
  EXPECT_EQ(queue.begin(cancel), 1u);
  queue.end(1, 0, 101);
  std::jthread waiting([&] { EXPECT_EQ(queue.begin(cancel), 2u); });
  queue.end(0, 0, 0);
}

TEST(InOrder, EndsWhereItIsCancelledStoppedOrToldSo) {
  std::vector<uint64_t> taken;
  Queue queue(
      9, 100, [](uint64_t) { return uint64_t{0}; },
      [&](uint64_t place, int) {
        taken.push_back(place);
        return place < 1;
      });
  std::atomic<bool> cancel{true};
  EXPECT_EQ(queue.begin(cancel), std::nullopt);
  cancel = false;
  for (uint64_t place = 0; place < 3; ++place) EXPECT_EQ(queue.begin(cancel), place);
  queue.stop_before(4);
  EXPECT_EQ(queue.begin(cancel), 3u);
  EXPECT_EQ(queue.begin(cancel), std::nullopt);
  for (uint64_t place = 0; place < 4; ++place) queue.end(place, 0, 0);
  EXPECT_EQ(taken, (std::vector<uint64_t>{0, 1}));
}

}  // namespace
}  // namespace gpuemu
