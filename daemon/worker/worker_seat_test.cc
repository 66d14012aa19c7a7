#include "daemon/worker/worker_seat.h"

#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/service_limits.h"
#include "daemon/executor/fakes/plan_fixture.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

class Seats : public testing::Test {
 protected:
  Seats() {
    WorkerOptions options;
    options.program = GPUEMU_FAKE_WORKER;
    options.backend = "fake";
    options.grace_ms = 20;
    auto worker = std::make_shared<SharedWorker>(
        options, std::vector<Arena*>{&arenas_[0], &arenas_[1], &arenas_[2]});
    for (uint32_t i = 0; i < 3; ++i) seats_.emplace_back(worker, i);
    apart_.emplace(worker, 2);
  }
  Result<ExecutionReport> run(uint32_t seat, const std::string& entry, std::string key = "key") {
    ExecutionPlan plan = add_plan(entry);
    plan.module_key = key;
    GPUEMU_TRY(seats_[seat].begin(key, "add.ptx", entry, plan));
    return seats_[seat].finish();
  }
  void set_first(uint32_t seat, float value) {
    std::memcpy(arenas_[seat].range(0, sizeof value)->data(), &value, sizeof value);
  }
  float first_sum(uint32_t seat) { return floats_at(arenas_[seat], 128)[0]; }

  std::array<Arena, 3> arenas_{add_arena(), add_arena(), add_arena()};
  std::vector<WorkerSeat> seats_;
  std::optional<WorkerSeat> apart_;  ///< For another thread.
};

TEST_F(Seats, PlansOfOneProcessReadAndWriteTheMemoryOfTheirOwnSeat) {
  std::vector<std::thread> threads;
  std::array<int, 3> right{};
  for (uint32_t seat = 0; seat < 3; ++seat) {
    threads.emplace_back([&, seat] {
      for (int i = 0; i < 50; ++i) {
        const auto value = static_cast<float>(100 * static_cast<int>(seat) + i);
        set_first(seat, value);
        if (run(seat, "add") && first_sum(seat) == value + 10) ++right[seat];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, (std::array<int, 3>{50, 50, 50}));
  EXPECT_GT(seats_[0].pid(), 0);
  EXPECT_EQ(seats_[0].pid(), seats_[2].pid());
  EXPECT_EQ(seats_[1].restarts(), 0u);
}

TEST_F(Seats, ACrashIsTheFindingOfTheSeatWhosePlanItWas) {
  ASSERT_TRUE(run(0, "add"));
  std::thread other([&] {
    for (int i = 0; i < 30; ++i) EXPECT_TRUE(run(1, "add"));
  });
  for (int i = 0; i < 5; ++i) {
    const auto report = run(0, "crash");
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::Unavailable);
  }
  other.join();
  EXPECT_TRUE(run(2, "add"));
  EXPECT_EQ(seats_[2].restarts(), 5u);
}

/// Seats beside each other, for one thread that sends several plans before it asks for an answer.
class SeatsTogether : public Seats {
 protected:
  SeatsTogether() {
    seats_[1] = seats_[0].beside(1);
    seats_[2] = seats_[0].beside(2);
  }
  Status begin(uint32_t seat, const std::string& entry, uint64_t timeout_ms = 30'000,
               const std::string& key = "key") {
    ExecutionPlan plan = add_plan(entry);
    plan.module_key = key;
    plan.timeout_ms = timeout_ms;
    return seats_[seat].begin(key, "add.ptx", entry, plan);
  }
  ErrorCode code_of(uint32_t seat) {
    const auto report = seats_[seat].finish();
    return report ? ErrorCode::Internal : report.error().code;
  }
};

TEST_F(SeatsTogether, EachGetsTheAnswerToItsOwnPlanInAnyOrder) {
  for (uint32_t seat = 0; seat < 3; ++seat) {
    set_first(seat, static_cast<float>(100 * seat));
    ASSERT_TRUE(begin(seat, seat == 1 ? "add_behind" : "add"));
  }
  const auto last = seats_[2].finish();
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_TRUE(last->harness.empty());
  ASSERT_TRUE(begin(2, "add")) << "again, while answers wait for the others";
  EXPECT_TRUE(seats_[0].finish()->harness.empty());
  EXPECT_EQ(seats_[1].finish()->harness.at(0).kind, HarnessFinding::Kind::GuardDamaged);
  EXPECT_TRUE(seats_[2].finish());
  for (uint32_t seat = 0; seat < 3; ++seat) {
    EXPECT_EQ(first_sum(seat), static_cast<float>(100 * seat + 10));
  }
  EXPECT_EQ(seats_[0].restarts(), 0u);
}

TEST_F(SeatsTogether, ACrashIsTheFindingOfItsOwnPlanAndTheLaterOnesRun) {
  ASSERT_TRUE(begin(0, "add"));
  ASSERT_TRUE(begin(1, "crash"));
  ASSERT_TRUE(begin(2, "add"));
  EXPECT_TRUE(seats_[0].finish());
  EXPECT_EQ(code_of(1), ErrorCode::Unavailable);
  const auto last = seats_[2].finish();
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(first_sum(2), 11);
  EXPECT_EQ(seats_[2].restarts(), 1u);
}

TEST_F(SeatsTogether, ANewWorkerGetsTheModuleOfEachPlan) {
  for (const char* key : {"a", "b"}) {
    ASSERT_TRUE(begin(0, "add", 30'000, key));
    EXPECT_TRUE(seats_[0].finish());
  }
  ASSERT_TRUE(begin(0, "crash", 30'000, "a"));
  EXPECT_EQ(code_of(0), ErrorCode::Unavailable);
  ASSERT_TRUE(begin(0, "add", 30'000, "a"));
  ASSERT_TRUE(begin(1, "add", 30'000, "b"));
  for (uint32_t seat = 0; seat < 2; ++seat) {
    const auto report = seats_[seat].finish();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->device.empty());
  }
}

TEST_F(SeatsTogether, APlanThatEndsTheDeviceOrHangsDelaysOnlyTheLaterOnes) {
  ASSERT_TRUE(begin(0, "fault_and_lose"));
  ASSERT_TRUE(begin(1, "hang", 30));
  ASSERT_TRUE(begin(2, "add"));
  EXPECT_FALSE(seats_[0].finish()->device.empty());
  EXPECT_EQ(code_of(1), ErrorCode::Timeout);
  EXPECT_TRUE(seats_[2].finish());
}

TEST_F(SeatsTogether, AllAreCancelledAndTheWorkerIsFreeForOthers) {
  std::atomic<bool> cancel = false;
  for (WorkerSeat& seat : seats_) seat.stop_when(&cancel);
  ASSERT_TRUE(begin(0, "add"));
  ASSERT_TRUE(begin(1, "hang"));
  ASSERT_TRUE(begin(2, "add"));
  EXPECT_TRUE(seats_[0].finish());
  cancel = true;
  EXPECT_EQ(code_of(1), ErrorCode::Cancelled);
  EXPECT_EQ(code_of(2), ErrorCode::Cancelled);
  EXPECT_TRUE(seats_[2].was_cancelled());
  for (WorkerSeat& seat : seats_) seat.stop_when(nullptr);
  EXPECT_TRUE(run(1, "add"));
}

TEST_F(SeatsTogether, TheTurnIsPassedOnOnceAllAnswersAreThere) {
  WorkerSeat other = *std::exchange(apart_, std::nullopt);
  for (uint32_t seat = 0; seat < 3; ++seat) ASSERT_TRUE(begin(seat, "add"));
  ExecutionPlan plan = add_plan("add");
  plan.module_key = "key";
  std::jthread waiting([&] {
    ASSERT_TRUE(other.begin("key", "add.ptx", "add", plan));
    EXPECT_TRUE(other.finish());
  });
  seats_[1].settle();
  waiting.join();  // Before the answers are fetched.
  for (WorkerSeat& seat : seats_) EXPECT_TRUE(seat.finish());
}

TEST_F(Seats, ACancelledPlanEndsSoonAndTheOtherSeatsGoOn) {
  ASSERT_TRUE(run(0, "add"));
  std::atomic<bool> cancel = false;
  seats_[0].stop_when(&cancel);
  ExecutionPlan plan = add_plan("hang");
  plan.timeout_ms = 3'600'000;
  ASSERT_TRUE(seats_[0].begin("key", "add.ptx", "hang", plan).ok());
  cancel = true;
  EXPECT_EQ(seats_[0].finish().error().code, ErrorCode::Cancelled);
  EXPECT_TRUE(seats_[0].was_cancelled());
  EXPECT_TRUE(run(1, "add"));
  EXPECT_EQ(run(0, "add").error().code, ErrorCode::Cancelled);
  seats_[0].stop_when(nullptr);
  EXPECT_FALSE(seats_[0].was_cancelled());
  EXPECT_TRUE(run(0, "add"));
}

TEST_F(Seats, APlanThatEndsByItselfSoonAfterItWasCancelledCounts) {
  std::atomic<bool> cancel = false;
  seats_[0].stop_when(&cancel);
  ASSERT_TRUE(seats_[0].begin("key", "add.ptx", "add", add_plan("add")).ok());
  cancel = true;
  EXPECT_TRUE(seats_[0].finish());
  EXPECT_FALSE(seats_[0].was_cancelled());
  EXPECT_EQ(seats_[0].restarts(), 0u);
}

TEST_F(Seats, ModulesOfOneSeatDoNotPushOutThatOfAnotherBeforeItRuns) {
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(run(1, "add", "mine"));
  });
  for (size_t i = 0; i <= kWorkerModulesMax; ++i) {
    EXPECT_TRUE(run(0, "add", "module " + std::to_string(i)));
  }
  other.join();
}

TEST_F(Seats, AModuleThatDoesNotCompileEndsTheTurn) {
  EXPECT_EQ(seats_[0].begin("empty", "empty.ptx", "", add_plan("add")).error().code,
            ErrorCode::Compile);
  EXPECT_TRUE(run(1, "add"));
  EXPECT_TRUE(seats_[0].properties());
}

/// Loses the given number of workers, and then has none.
class LossyPool : public RemotePool {
 public:
  class Worker : public RemoteWorker {
   public:
    explicit Worker(LossyPool& pool) : pool_(pool) {}
    std::string name() const override { return "w" + std::to_string(pool_.attempts.size()); }
    std::optional<Result<ExecutionReport>> run(const RemoteWork& work) override {
      pool_.attempts.push_back(work.attempt);
      return std::nullopt;
    }

   private:
    LossyPool& pool_;
  };
  std::unique_ptr<RemoteWorker> take(const WorkerOptions&) override {
    return attempts.size() < losses && !busy ? std::make_unique<Worker>(*this) : nullptr;
  }
  bool has(const WorkerOptions&) const override { return busy; }
  bool wait(std::chrono::milliseconds) override {
    ++waits;
    if (waits == waits_busy) busy = false;
    return !ended;
  }

  size_t losses = 0;
  std::vector<uint32_t> attempts;
  size_t waits = 0, waits_busy = 0;  ///< It is busy until it was waited for so often.
  bool busy = false, ended = false;
};

class LossySeat : public testing::Test {
 protected:
  Result<ExecutionReport> run() {
    WorkerOptions options;
    options.program = GPUEMU_FAKE_WORKER;
    options.backend = "fake";
    places_.remotes = pool_;
    WorkerSeat seat(std::make_shared<SharedWorker>(options, std::vector<Arena*>{&arena_}, places_),
                    0);
    seat.stop_when(&cancel_);
    GPUEMU_TRY(seat.begin("key", "add.ptx", "add", add_plan("add")));
    return seat.finish();
  }

  Arena arena_ = add_arena();
  std::shared_ptr<LossyPool> pool_ = std::make_shared<LossyPool>();
  WorkerPlaces places_;
  std::atomic<bool> cancel_ = false;
};

TEST_F(LossySeat, RunsHereWhatOneRemoteWorkerHasLost) {
  pool_->losses = 1;
  EXPECT_TRUE(run());
  EXPECT_EQ(floats_at(arena_, 128)[0], 11);
  EXPECT_EQ(pool_->attempts, (std::vector<uint32_t>{1}));
}

TEST_F(LossySeat, DoesNotTryAgainWhatTwoHaveLost) {
  pool_->losses = 2;
  const auto report = run();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Unavailable);
  EXPECT_EQ(report.error().message,
            "the workers w1 and w2 were lost while they ran it; it is not tried again");
  EXPECT_EQ(pool_->attempts, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(floats_at(arena_, 128)[0], 0);
}

TEST_F(LossySeat, RunsHereAtOnceWhereTheRemoteWorkersAreBusy) {
  pool_->busy = true;
  EXPECT_TRUE(run());
  EXPECT_EQ(pool_->waits, 0U);
}

TEST_F(LossySeat, WaitsForABusyRemoteWorkerWhereThoseArePreferred) {
  places_.prefers_remote = true;
  pool_->busy = true;
  pool_->losses = 1;
  pool_->waits_busy = 3;
  EXPECT_TRUE(run());  // The remote worker is lost, and there is no other.
  EXPECT_EQ(pool_->waits, 3U);
  EXPECT_EQ(pool_->attempts, (std::vector<uint32_t>{1}));
}

TEST_F(LossySeat, WaitsWhereNothingRunsHere) {
  places_.runs_local = false;
  pool_->ended = true;
  const auto ended = run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::Unavailable);
  pool_->ended = false;
  cancel_ = true;
  const auto cancelled = run();
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace gpuemu
