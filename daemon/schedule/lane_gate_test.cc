#include "daemon/schedule/lane_gate.h"

#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool.h"
#include "daemon/schedule/slot_pool_options.h"

namespace gpuemu {
namespace {

using std::chrono::microseconds;

bool never() { return false; }

/// Waits until `gate` has served the calls that can be served now.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

LaneClaim claim_of(uint64_t session) {
  const auto lanes = std::make_shared<LaneSession>(session, "s" + std::to_string(session));
  return std::make_shared<LaneUse>(lanes, Urgency::Batch);
}

TEST(LaneGate, LetsNoMoreCasesRunThanThereAreLanesNorThanAPoolHasSlots) {
  LaneGate gate(3);
  const uint64_t small = gate.add_pool(1), large = gate.add_pool(8);
  std::atomic<int> running = 0, most = 0, in_small = 0, most_in_small = 0;
  const auto raise = [](std::atomic<int>& seen, int now) {
    for (int old = seen; old < now && !seen.compare_exchange_weak(old, now);) {
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 12; ++t) {
    threads.emplace_back([&, claim = claim_of(t % 4), is_small = t % 3 == 0] {
      for (int i = 0; i < 100; ++i) {
        const auto ticket = gate.enter(is_small ? small : large, claim, never);
        ASSERT_TRUE(ticket);
        raise(most, ++running);
        if (is_small) raise(most_in_small, ++in_small);
        --running;
        if (is_small) --in_small;
        gate.leave(*ticket, microseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(most_in_small, 1);
}

TEST(LaneGate, ServesTheSessionThatHasUsedTheLeast) {
  LaneGate gate(1);
  const uint64_t pool = gate.add_pool(1);
  const auto held = gate.enter(pool, claim_of(1), never);
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::string order;
  const auto work = [&](uint64_t session, microseconds used) {
    const auto ticket = gate.enter(pool, claim_of(session), never);
    ASSERT_TRUE(ticket);
    {
      const std::lock_guard lock(mutex);
      order += static_cast<char>('0' + session);
    }
    gate.leave(*ticket, used);
  };
  for (int i = 0; i < 3; ++i) threads.emplace_back(work, 1, microseconds(1000));
  settle();
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, 2, microseconds(300));
  settle();
  EXPECT_EQ(gate.waiting(pool), 7u);
  gate.leave(*held, microseconds(1000));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "2222111");
}

TEST(LaneGate, WhoGivesUpLeavesTheTurnToOthers) {
  LaneGate gate(1);
  const uint64_t pool = gate.add_pool(1);
  const auto held = gate.enter(pool, claim_of(1), never);
  std::atomic<bool> ended = false;
  auto leaving = std::async(std::launch::async, [&] {
    return gate.enter(pool, claim_of(2), [&] { return ended.load(); }).has_value();
  });
  settle();
  auto staying =
      std::async(std::launch::async, [&] { return gate.enter(pool, claim_of(3), never); });
  settle();
  ended = true;
  gate.wake();
  EXPECT_FALSE(leaving.get());
  gate.leave(*held, microseconds(1));
  const auto ticket = staying.get();
  ASSERT_TRUE(ticket);
  gate.leave(*ticket, microseconds(1));
  EXPECT_EQ(gate.waiting(), 0u);
}

TEST(LaneGate, PoolsOfTwoProjectsShareIt) {
  SlotPoolOptions options;
  options.count = 2;
  options.gate = std::make_shared<LaneGate>(2);
  auto one = SlotPool::create(options);
  auto other = SlotPool::create(options);
  ASSERT_TRUE(one && other);
  const LaneClaim a = claim_of(1), b = claim_of(2);
  std::optional<SlotLease> first(*(*one)->acquire(a)), second(*(*one)->acquire(a));
  auto third =
      std::async(std::launch::async, [&] { return static_cast<bool>((*other)->acquire(b)); });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_TRUE(b->is_waiting() && !a->is_waiting());
  first.reset();
  EXPECT_TRUE(third.get());
  // A call that is cancelled while it waits at the gate releases its slot.
  first.emplace(*(*one)->acquire(a));
  std::atomic<bool> cancel = false;
  auto fourth =
      std::async(std::launch::async, [&] { return (*other)->acquire(b, &cancel).error().code; });
  settle();
  cancel = true;
  (*other)->wake();
  EXPECT_EQ(fourth.get(), ErrorCode::Cancelled);
  // So does a call whose session ends.
  auto dropped =
      std::async(std::launch::async, [&] { return (*other)->acquire(b).error().message; });
  settle();
  b->stop({LaneStop::Why::SessionEnded, "session b has ended"});
  EXPECT_EQ(dropped.get(), "session b has ended");
  auto fifth =
      std::async(std::launch::async, [&] { return (*other)->acquire(claim_of(3)).error().code; });
  settle();
  (*other)->shutdown();
  EXPECT_EQ(fifth.get(), ErrorCode::Unavailable);
}

TEST(LaneClaim, TimeThatIsUsedUpEndsItBeforeItsNextLane) {
  auto pool = SlotPool::create({.count = 1});
  const auto session = std::make_shared<LaneSession>(1, "s");
  session->limit_us = 1500;
  const auto use = std::make_shared<LaneUse>(session, Urgency::Batch);
  std::optional<LaneStop> told;
  use->on_stop([&](const LaneStop& why) { told = why; });
  {
    const auto lease = (*pool)->acquire(use);
    ASSERT_TRUE(lease);
    EXPECT_TRUE((*pool)->activity().front().session == "s");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_GE(session->used_us, 2000);
  EXPECT_FALSE(told);
  EXPECT_EQ((*pool)->acquire(use).error().message,
            "session s: 0.0015 s of device time is used up (time_limit_s)");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->why, LaneStop::Why::LimitReached);
  EXPECT_FALSE((*pool)->activity().front().session);
  EXPECT_GT((*pool)->activity().front().busy, 0);
}

TEST(LaneClaim, MemoryIsWaitedForAndWhatCanNeverBeIsRefused) {
  const auto session = std::make_shared<LaneSession>(1, "s");
  session->set_memory_limit(uint64_t{512} << 20);
  const auto use = std::make_shared<LaneUse>(session, Urgency::Batch);
  std::optional<MemoryHold> first(*MemoryHold::take(use, uint64_t{412} << 20));
  EXPECT_EQ(session->memory_bytes(), uint64_t{412} << 20);
  auto second = std::async(std::launch::async,
                           [&] { return MemoryHold::take(use, uint64_t{200} << 20).ok(); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(
      MemoryHold::take(std::make_shared<LaneUse>(session, Urgency::Batch), uint64_t{600} << 20)
          .error()
          .message,
      "session s: needs 600 MiB, 100 of 512 MiB are free (memory_limit_mb)");
  first.reset();
  EXPECT_TRUE(second.get());
  EXPECT_EQ(session->memory_bytes(), 0u);
}

TEST(LaneGate, LanesOfWorkersElsewhereComeAndGo) {
  LaneGate gate(1);
  const uint64_t pool = gate.add_pool(1), other = gate.add_pool(1);
  const auto first = gate.enter(pool, claim_of(1), never);
  std::atomic<bool> ended = false;
  auto second = std::async(std::launch::async, [&] {
    return gate.enter(pool, claim_of(2), [&] { return ended.load(); });
  });
  settle();
  EXPECT_EQ(gate.waiting(pool), 1u);
  gate.set_extra(pool, 1);  // A waiting call gets it immediately.
  const auto ticket = second.get();
  ASSERT_TRUE(ticket);
  // The other pool uses the same workers, whose lane is taken.
  gate.set_extra(other, 1);
  EXPECT_FALSE(gate.enter(other, claim_of(3), [] { return true; }));
  gate.set_extra(pool, 0);
  gate.set_extra(other, 0);
  gate.leave(*ticket, microseconds(1));
  EXPECT_FALSE(gate.enter(pool, claim_of(3), [] { return true; })) << "its lane has gone";
  gate.leave(*first, microseconds(1));
  EXPECT_TRUE(gate.enter(pool, claim_of(3), never));
}

}  // namespace
}  // namespace gpuemu
