#include "daemon/schedule/lane_gate.h"

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/schedule/slot_pool.h"

namespace gpuemu {
namespace {

using std::chrono::microseconds;

bool never() { return false; }

/// Waits until `gate` has served the calls that can be served now.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

TEST(LaneGate, LetsNoMoreCasesRunThanThereAreLanes) {
  LaneGate gate(3);
  std::atomic<int> running = 0, most = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&, project = std::to_string(t % 4)] {
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(gate.enter(project, never));
        const int now = ++running;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        --running;
        gate.leave(project, microseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
}

TEST(LaneGate, ServesTheProjectThatHasUsedTheLeast) {
  LaneGate gate(1);
  ASSERT_TRUE(gate.enter("long", never));
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::string order;
  const auto work = [&](const char* project, microseconds used) {
    ASSERT_TRUE(gate.enter(project, never));
    {
      const std::lock_guard lock(mutex);
      order += project[0];
    }
    gate.leave(project, used);
  };
  for (int i = 0; i < 3; ++i) threads.emplace_back(work, "long", microseconds(1000));
  settle();
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, "short", microseconds(300));
  settle();
  gate.leave("long", microseconds(1000));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "sssslll");
}

TEST(LaneGate, WhatAProjectDidNotUseIsNotSavedUp) {
  LaneGate gate(1);
  // "busy" never goes, as it waits again before it leaves.
  ASSERT_TRUE(gate.enter("busy", never));
  auto again = std::async(std::launch::async, [&] { return gate.enter("busy", never); });
  settle();
  gate.leave("busy", microseconds(1'000'000));
  ASSERT_TRUE(again.get());
  std::mutex mutex;
  std::string order;
  const auto work = [&](const char* project) {
    ASSERT_TRUE(gate.enter(project, never));
    {
      const std::lock_guard lock(mutex);
      order += project[0];
    }
    gate.leave(project, microseconds(10));
  };
  std::vector<std::thread> threads;
  for (const char* project : {"new", "new", "busy"}) threads.emplace_back(work, project);
  settle();
  gate.leave("busy", microseconds(5));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "nbn") << "it does not have a second in advance";
}

TEST(LaneGate, WhoGivesUpLeavesTheTurnToOthers) {
  LaneGate gate(1);
  ASSERT_TRUE(gate.enter("a", never));
  std::atomic<bool> ended = false;
  auto leaving =
      std::async(std::launch::async, [&] { return gate.enter("b", [&] { return ended.load(); }); });
  settle();
  auto staying = std::async(std::launch::async, [&] { return gate.enter("c", never); });
  settle();
  ended = true;
  gate.wake();
  EXPECT_FALSE(leaving.get());
  gate.leave("a", microseconds(1));
  EXPECT_TRUE(staying.get());
  gate.leave("c", microseconds(1));
}

TEST(LaneGate, PoolsOfTwoProjectsShareIt) {
  SlotPoolOptions options;
  options.count = 2;
  options.gate = std::make_shared<LaneGate>(2);
  options.project = "one";
  auto one = SlotPool::create(options);
  options.project = "other";
  auto other = SlotPool::create(options);
  ASSERT_TRUE(one && other);
  std::optional<SlotLease> first(*(*one)->acquire("a")), second(*(*one)->acquire("a"));
  auto third =
      std::async(std::launch::async, [&] { return static_cast<bool>((*other)->acquire("b")); });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  first.reset();
  EXPECT_TRUE(third.get());
  // One that is cancelled while it waits at the gate gives its slot back.
  first.emplace(*(*one)->acquire("a"));
  std::atomic<bool> cancel = false;
  auto fourth =
      std::async(std::launch::async, [&] { return (*other)->acquire("b", &cancel).error().code; });
  settle();
  cancel = true;
  (*other)->wake();
  EXPECT_EQ(fourth.get(), ErrorCode::Cancelled);
  auto fifth = std::async(std::launch::async, [&] { return (*other)->acquire("b").error().code; });
  settle();
  (*other)->shutdown();
  EXPECT_EQ(fifth.get(), ErrorCode::Unavailable);
}

}  // namespace
}  // namespace gpuemu
