#include "daemon/schedule/slot_pool.h"

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "daemon/executor/plan.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool_options.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

std::unique_ptr<SlotPool> pool_of(uint32_t count) {
  SlotPoolOptions options;
  options.count = count;
  auto pool = SlotPool::create(options);
  EXPECT_TRUE(pool);
  return *std::move(pool);
}

/// Returns a claim of the session with this name; tests use a letter or a number.
LaneClaim claim_of(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<LaneSession>> sessions;
  const std::lock_guard lock(mutex);
  std::shared_ptr<LaneSession>& session = sessions[name];
  if (session == nullptr) session = std::make_shared<LaneSession>(sessions.size(), name);
  return std::make_shared<LaneUse>(session, Urgency::Batch);
}

TEST(SlotPool, SharesSlotsEquallyBetweenABusyAndABusierSession) {
  auto pool = pool_of(1);
  std::optional<SlotLease> held(*pool->acquire(claim_of("holder")));
  std::mutex mutex;
  std::string order;
  std::vector<std::thread> threads;
  const auto work = [&](char session) {
    auto lease = pool->acquire(claim_of(std::string(1, session)));
    ASSERT_TRUE(lease);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::lock_guard lock(mutex);
    order += session;
  };
  for (char session : std::string("aaaaaaaaaabbbbb")) threads.emplace_back(work, session);
  while (pool->waiting() < 15) std::this_thread::yield();
  held.reset();
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 1; i <= 10; ++i) {
    const auto a = std::count(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i), 'a');
    EXPECT_LE(std::abs(2 * a - static_cast<std::ptrdiff_t>(i)), 2) << order << " after " << i;
  }
}

TEST(SlotPool, WhoKeepsItsLaneForItsNextCaseSharesByWeight) {
  // With one thread for each session, none of its cases waits while another runs.
  auto pool = pool_of(1);
  const auto heavy = claim_of("heavy"), light = claim_of("light");
  heavy->session().weight = 3;
  std::atomic<bool> heavy_waits = false, light_waits = false, done = false;
  const auto work = [&](const LaneClaim& claim, std::atomic<bool>& waits) {
    HeldLane lane;
    while (!done) {
      waits = true;
      auto lease = pool->acquire(claim, nullptr, std::move(lane));
      ASSERT_TRUE(lease);
      while (!heavy_waits || !light_waits) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      lane = lease->end_case();
      if (heavy->session().used_us + light->session().used_us > 400'000) done = true;
    }
  };
  std::thread first(work, heavy, std::ref(heavy_waits)), second(work, light, std::ref(light_waits));
  first.join();
  second.join();
  const double ratio =
      static_cast<double>(heavy->session().used_us) / static_cast<double>(light->session().used_us);
  EXPECT_NEAR(ratio, 3, 1);
}

TEST(SlotPool, TimeBetweenCasesOfAKeptLaneIsCharged) {
  // Both hold the lane for 4 ms a turn; "plans" uses nearly all of it for its next case.
  auto pool = pool_of(1);
  const auto plans = claim_of("plans"), runs = claim_of("runs");
  std::atomic<bool> done = false;
  std::atomic<int> turns = 0;
  int planned = 0, ran = 0;
  const auto work = [&](const LaneClaim& claim, int& own, int in_case, int between) {
    HeldLane lane;
    while (!done) {
      auto lease = pool->acquire(claim, nullptr, std::move(lane));
      ASSERT_TRUE(lease);
      // A case ends when the other session waits for the lane.
      while (pool->waiting() == 0 && !done) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(in_case));
      lane = lease->end_case();
      std::this_thread::sleep_for(std::chrono::milliseconds(between));
      ++own;
      if (++turns >= 60) done = true;
    }
  };
  std::thread first(work, plans, std::ref(planned), 0, 4);
  std::thread second(work, runs, std::ref(ran), 4, 0);
  first.join();
  second.join();
  EXPECT_NEAR(planned, ran, 10);
  EXPECT_GE(plans->session().used_us, planned * 4'000);
}

TEST(SlotPool, ALaneIsHeldSinceItsCaseHasItNotSinceItWaits) {
  auto pool = pool_of(1);
  const auto a = claim_of("a"), b = claim_of("b");
  auto first = pool->acquire(a);
  constexpr std::chrono::milliseconds kHeld{20};
  std::chrono::steady_clock::duration held{}, all{};
  std::thread second([&] {
    const auto start = std::chrono::steady_clock::now();
    HeldLane lane = (*pool->acquire(b)).end_case();
    std::this_thread::sleep_for(kHeld);
    held = lane.held_for();
    all = std::chrono::steady_clock::now() - start;
    lane.release();
    EXPECT_EQ(lane.held_for().count(), 0);
  });
  while (pool->waiting() < 1) std::this_thread::yield();
  EXPECT_EQ(pool->usage(a).own, 1u);
  EXPECT_TRUE(pool->usage(a).others_wait);
  EXPECT_EQ(pool->usage(b).own, 0u);
  EXPECT_FALSE(pool->usage(b).others_wait);
  constexpr std::chrono::milliseconds kWait{100};
  std::this_thread::sleep_for(kWait);
  first->end_case();
  second.join();
  EXPECT_GE(all, kWait);
  EXPECT_LE(held, all - kWait);
}

TEST(SlotPool, TheTimeLimitOfASessionHoldsBetweenCasesOfAKeptLane) {
  auto pool = pool_of(1);
  const auto claim = claim_of("limited between");
  claim->session().limit_us = 2'000;
  HeldLane lane = (*pool->acquire(claim)).end_case();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_FALSE(pool->acquire(claim, nullptr, std::move(lane)));
  EXPECT_GE(claim->session().used_us, 3'000);
  EXPECT_TRUE(pool->acquire(claim_of("b"))) << "the lane is free for others";
}

TEST(SlotPool, AHeldLaneThatGoesIsFreeForOthers) {
  auto pool = pool_of(1);
  HeldLane lane = (*pool->acquire(claim_of("a"))).end_case();
  auto other = std::async(std::launch::async, [&] {
    const auto lease = pool->acquire(claim_of("b"));
    return static_cast<bool>(lease);
  });
  while (pool->waiting() < 1) std::this_thread::yield();
  lane.release();
  EXPECT_TRUE(other.get());
  EXPECT_FALSE(pool->statistics().front().busy);
}

TEST(SlotPool, NeverLeasesASlotTwice) {
  auto pool = pool_of(3);
  std::vector<std::atomic<int>> users(3);
  std::atomic<int> clashes = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        auto lease = pool->acquire(claim_of(std::to_string(t % 3)));
        if (!lease || users[lease->index()].fetch_add(1) != 0) ++clashes;
        if (lease) --users[lease->index()];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
  uint64_t leases = 0;
  for (const SlotStatistics& slot : pool->statistics()) leases += slot.leases;
  EXPECT_EQ(leases, 1600u);
}

TEST(SlotPool, ALeaseThatIsMovedGivesItsSlotBackOnce) {
  auto pool = pool_of(2);
  {
    SlotLease a = *pool->acquire(claim_of("s"));
    SlotLease b = *pool->acquire(claim_of("s"));
    EXPECT_NE(&*a, &*b);
    EXPECT_TRUE(pool->statistics()[0].busy && pool->statistics()[1].busy);
    a = std::move(b);
  }
  EXPECT_FALSE(pool->statistics()[0].busy || pool->statistics()[1].busy);
}

TEST(SlotPool, ShutdownWakesThoseWhoWait) {
  auto pool = pool_of(1);
  SlotLease held = *pool->acquire(claim_of("a"));
  auto waiting =
      std::async(std::launch::async, [&] { return pool->acquire(claim_of("b")).error().code; });
  pool->shutdown();
  EXPECT_EQ(waiting.get(), ErrorCode::Unavailable);
  EXPECT_FALSE(pool->acquire(claim_of("c")));
}

TEST(SlotPool, ACancelledWaiterLeavesItsPlaceToTheNext) {
  auto pool = pool_of(1);
  std::optional<SlotLease> held(*pool->acquire(claim_of("a")));
  std::atomic<bool> cancel = false;
  auto waiting = std::async(std::launch::async,
                            [&] { return pool->acquire(claim_of("b"), &cancel).error().code; });
  auto next = std::async(std::launch::async, [&] { return pool->acquire(claim_of("c")).ok(); });
  cancel = true;
  pool->wake();
  EXPECT_EQ(waiting.get(), ErrorCode::Cancelled);
  held.reset();
  EXPECT_TRUE(next.get());
}

TEST(SlotPool, ASlotOffersItsMemory) {
  auto pool = pool_of(1);
  SlotLease lease = *pool->acquire(claim_of("a"));
  ASSERT_TRUE(lease->arena.grow(100));
  EXPECT_TRUE(lease->arena.range(0, 100));
  EXPECT_EQ(lease->worker.pid(), -1) << "nothing starts before it is used";
}

TEST(SlotPool, SlotsOfAGpuShareItsWorkerAndAreTakenGpuByGpu) {
  SlotPoolOptions options;
  options.count = options.devices = 2;
  options.slots_per_worker = 3;
  options.worker.program = GPUEMU_FAKE_WORKER;
  options.worker.backend = "fake";
  auto pool = SlotPool::create(options);
  ASSERT_TRUE(pool);
  EXPECT_EQ((*pool)->workers(), 2u);
  ASSERT_EQ((*pool)->size(), 6u);
  std::vector<SlotLease> leases;
  std::vector<int> pids;
  for (int i = 0; i < 6; ++i) {
    leases.push_back(*(*pool)->acquire(claim_of("s")));
    ASSERT_TRUE(leases.back()->worker.properties());
    pids.push_back(leases.back()->worker.pid());
  }
  EXPECT_NE(pids[0], pids[1]);
  EXPECT_EQ(pids, (std::vector{pids[0], pids[1], pids[0], pids[1], pids[0], pids[1]}));
}

TEST(SlotPool, NoSlotsAreRefused) {
  SlotPoolOptions options;
  options.count = 0;
  EXPECT_EQ(SlotPool::create(options).error().code, ErrorCode::InvalidArgument);
  options.count = 1;
  options.slots_per_worker = 0;
  EXPECT_EQ(SlotPool::create(options).error().code, ErrorCode::InvalidArgument);
}

/// This many workers elsewhere, none of which is ever idle.
class BusyRemotes : public RemotePool {
 public:
  std::unique_ptr<RemoteWorker> take(const WorkerOptions&) override { return nullptr; }
  bool has(const WorkerOptions&) const override { return connected > 0; }
  size_t count(const WorkerOptions&) const override { return connected; }
  bool wait(std::chrono::milliseconds) override { return true; }
  std::atomic<size_t> connected = 0;
};

TEST(SlotPool, RemoteWorkersBringSlotsAsLongAsTheyAreConnected) {
  const auto remotes = std::make_shared<BusyRemotes>();
  SlotPoolOptions options;
  options.count = 2;
  options.worker.program = GPUEMU_FAKE_WORKER;
  options.worker.backend = "fake";
  options.places.remotes = remotes;
  options.slots_per_remote = 2;
  options.remote_slots_max = 5;
  auto pool = SlotPool::create(options);
  ASSERT_TRUE(pool);
  EXPECT_EQ((*pool)->size(), 2u);
  remotes->connected = 1;
  EXPECT_EQ((*pool)->size(), 4u);
  remotes->connected = 3;
  EXPECT_EQ((*pool)->size(), 7u);
  std::vector<SlotLease> leases;
  for (int i = 0; i < 7; ++i) leases.push_back(*(*pool)->acquire(claim_of("s")));
  EXPECT_EQ((*pool)->activity().size(), 2u);
  remotes->connected = 0;
  EXPECT_EQ((*pool)->size(), 2u);
  EXPECT_EQ((*pool)->workers(), 2u);
}

}  // namespace
}  // namespace gpuemu
