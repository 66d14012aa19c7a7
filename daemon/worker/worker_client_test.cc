#include "daemon/worker/worker_client.h"

#include <signal.h>
#include <sys/wait.h>

#include "common/base/service_limits.h"
#include "daemon/executor/fakes/plan_fixture.h"
#include "daemon/worker/forwarding_link.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

class Worker : public testing::Test {
 protected:
  static WorkerOptions options() {
    WorkerOptions options;
    options.program = GPUEMU_FAKE_WORKER;
    options.backend = "fake";
    options.grace_ms = 20;
    return options;
  }
  Result<ExecutionReport> run(const ExecutionPlan& plan) {
    GPUEMU_TRY(worker_.begin(plan));
    return worker_.finish();
  }
  void SetUp() override {
    auto entries = worker_.load("key", "add.ptx", "add");
    ASSERT_TRUE(entries) << entries.error().message;
    ASSERT_EQ(entries->at(0).name, "add");
  }
  void expect_alive() {
    auto report = run(add_plan("add"));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(floats_at(arena_, 128), (std::vector<float>{11, 22, 33, 44}));
  }
  Arena arena_ = add_arena();
  WorkerClient worker_{options(), {&arena_}};
};

TEST_F(Worker, ExecutesAPlanInTheSharedArena) {
  expect_alive();
  auto properties = worker_.properties();
  ASSERT_TRUE(properties);
  EXPECT_EQ(properties->name, "fake device");
  EXPECT_EQ(worker_.restarts(), 0u);
}

TEST_F(Worker, SeesTheArenaGrow) {
  ASSERT_TRUE(arena_.grow(8 << 20));
  ExecutionPlan plan = add_plan("add");
  plan.tensors[2].output_offset = 7 << 20;
  auto report = run(plan);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(floats_at(arena_, 7 << 20)[3], 44);
}

TEST_F(Worker, ACrashIsUnavailableAndTheNextPlanRunsWithItsModule) {
  auto report = run(add_plan("crash"));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Unavailable);
  EXPECT_NE(report.error().message.find("signal 11"), std::string::npos) << report.error().message;
  EXPECT_EQ(worker_.pid(), -1);
  expect_alive();
  EXPECT_EQ(worker_.restarts(), 1u);
}

TEST_F(Worker, AFreshWorkerLoadsWhatItsPlanNeeds) {
  ASSERT_TRUE(worker_.load("other", "other.ptx", "add_changes_b"));
  ASSERT_FALSE(run(add_plan("crash")));
  ExecutionPlan plan = add_plan("add_changes_b");
  plan.module_key = "other";
  const auto report = run(plan);
  ASSERT_TRUE(report) << report.error().message;
  expect_alive();
  EXPECT_EQ(worker_.restarts(), 1u);
}

TEST_F(Worker, IsReplacedBeforeItHoldsTooManyModules) {
  for (size_t number = 1; number < kWorkerModulesMax; ++number) {
    ASSERT_TRUE(worker_.load(std::to_string(number), "add.ptx", "add"));
  }
  EXPECT_EQ(worker_.restarts(), 0u);
  ASSERT_TRUE(worker_.load("one too many", "add.ptx", "add"));
  EXPECT_EQ(worker_.restarts(), 1u);
  ASSERT_TRUE(worker_.load("key", "add.ptx", "add"));
  expect_alive();
  EXPECT_EQ(worker_.restarts(), 1u);
}

TEST_F(Worker, AHangIsKilledAtTheTimeOut) {
  ExecutionPlan plan = add_plan("hang");
  plan.timeout_ms = 30;
  auto report = run(plan);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Timeout);
  expect_alive();
}

TEST_F(Worker, ARequestOfATapeThatTakesTooLongEndsItsWorker) {
  WorkerOptions impatient = options();
  impatient.ask_ms = 20;
  WorkerClient worker(impatient, {});
  ASSERT_TRUE(worker.properties());
  ASSERT_EQ(kill(worker.pid(), SIGSTOP), 0);
  const auto answer = worker.ask({});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::Timeout) << answer.error().message;
  EXPECT_FALSE(worker.runs());
  EXPECT_EQ(worker.ask({}).error().code, ErrorCode::Unavailable) << "no other is started";
}

TEST_F(Worker, ADeviceLostByAFaultIsReplacedAfterItsReport) {
  auto report = run(add_plan("fault_and_lose"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->device.size(), 1u);
  expect_alive();
  EXPECT_EQ(worker_.restarts(), 1u);
}

TEST_F(Worker, ASurvivingDeviceKeepsItsProcess) {
  ASSERT_TRUE(run(add_plan("fault")));
  expect_alive();
  EXPECT_EQ(worker_.restarts(), 0u);
}

TEST_F(Worker, AWorkerKilledBetweenPlansIsReplaced) {
  ::kill(worker_.pid(), SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(worker_.pid()), &info, WEXITED | WNOWAIT), 0);
  expect_alive();
}

TEST_F(Worker, ErrorsOfThePlanLeaveTheProcessAlone) {
  ExecutionPlan plan = add_plan("add");
  plan.memory_limit_bytes = 1;
  EXPECT_EQ(run(plan).error().code, ErrorCode::ResourceExhausted);
  plan.module_key = "other";
  EXPECT_EQ(run(plan).error().code, ErrorCode::NotFound);
  expect_alive();
  EXPECT_EQ(worker_.restarts(), 0u);
}

TEST_F(Worker, TextThatIsNotPtxDoesNotCompile) {
  auto entries = worker_.load("empty", "empty.ptx", "");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, ErrorCode::Compile);
  auto crashed = worker_.load("crash", "crash.ptx", "crash");
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().code, ErrorCode::Unavailable);
  expect_alive();
}

TEST_F(Worker, TheDeviceIsOpenedWithTheMemoryLimit) {
  WorkerOptions small = options();
  small.memory_limit_bytes = uint64_t{5} << 32;
  WorkerClient worker(small, {&arena_});
  const auto properties = worker.properties();
  ASSERT_TRUE(properties) << properties.error().message;
  EXPECT_EQ(properties->memory_bytes, uint64_t{5} << 32);
}

TEST_F(Worker, AWorkerWithoutADeviceSaysWhy) {
  WorkerOptions none = options();
  none.backend = "none";
  WorkerClient worker(none, {&arena_});
  auto properties = worker.properties();
  ASSERT_FALSE(properties);
  EXPECT_EQ(properties.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(properties.error().message, "no such backend");
  EXPECT_EQ(worker.pid(), -1);
}

TEST_F(Worker, AMissingProgramIsUnavailable) {
  WorkerOptions missing = options();
  missing.program = "/no/such/worker";
  WorkerClient worker(missing, {&arena_});
  EXPECT_EQ(worker.properties().error().code, ErrorCode::Unavailable);
}

/// A link to a process that counts what is sent.
class CountingLink : public ForwardingLink {
 public:
  explicit CountingLink(int& sends) : ForwardingLink(worker_process()), sends_(sends) {}
  Status send(std::span<const std::byte> bytes, Deadline deadline) override {
    ++sends_;
    return ForwardingLink::send(bytes, deadline);
  }

 private:
  int& sends_;
};

class SeveralPlans : public Worker {
 protected:
  void SetUp() override { ASSERT_TRUE(several_.load("key", "add.ptx", "add")); }
  void begin(uint32_t arena, const std::string& entry) {
    ExecutionPlan plan = add_plan(entry);
    plan.arena = arena;
    ASSERT_TRUE(several_.begin(plan));
  }
  void expect_sum(uint32_t arena) {
    const auto report = several_.finish(nullptr, arena);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(floats_at(*arenas_[arena], 128), (std::vector<float>{11, 22, 33, 44}));
  }
  Arena second_ = add_arena(), third_ = add_arena();
  const std::vector<Arena*> arenas_{&arena_, &second_, &third_};
  int sends_ = 0;
  WorkerClient several_{options(), {arenas_.begin(), arenas_.end()}, [this] {
                          return std::make_unique<CountingLink>(sends_);
                        }};
};

TEST_F(SeveralPlans, ThoseBehindTheFirstAreSentTogether) {
  const int before = sends_;
  for (uint32_t arena = 0; arena < 3; ++arena) begin(arena, "add");
  EXPECT_EQ(sends_, before + 1) << "the first starts at once";
  for (uint32_t arena = 0; arena < 3; ++arena) expect_sum(arena);
  EXPECT_EQ(sends_, before + 2);
}

TEST_F(SeveralPlans, LookingSendsThem) {
  const int before = sends_;
  for (uint32_t arena = 0; arena < 3; ++arena) begin(arena, "add");
  several_.look();
  EXPECT_EQ(sends_, before + 2);
  for (uint32_t arena = 0; arena < 3; ++arena) expect_sum(arena);
}

TEST_F(SeveralPlans, ACrashOfTheFirstSendsTheOthersToAnotherWorker) {
  begin(0, "crash");
  begin(1, "add");
  begin(2, "add");
  EXPECT_EQ(several_.finish(nullptr, 0).error().code, ErrorCode::Unavailable);
  expect_sum(1);
  expect_sum(2);
  EXPECT_EQ(several_.restarts(), 1u);
}

TEST_F(SeveralPlans, ACrashInTheMiddleIsThatPlansAlone) {
  begin(0, "add");
  begin(1, "crash");
  begin(2, "add");
  expect_sum(0);
  EXPECT_EQ(several_.finish(nullptr, 1).error().code, ErrorCode::Unavailable);
  expect_sum(2);
}

TEST_F(SeveralPlans, AWorkerThatEndsBeforeTheyAreSentIsReplaced) {
  begin(0, "add");
  begin(1, "add");
  ::kill(several_.pid(), SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(several_.pid()), &info, WEXITED | WNOWAIT), 0);
  static_cast<void>(several_.finish(nullptr, 0).ok());  // It may have answered before.
  expect_sum(1);
}

TEST_F(Worker, NothingIsLeftWhenItIsDestroyedInFlight) {
  pid_t pid = -1;
  {
    WorkerClient worker(options(), {&arena_});
    ASSERT_TRUE(worker.load("key", "add.ptx", "add"));
    ASSERT_TRUE(worker.begin(add_plan("hang")));
    pid = worker.pid();
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace gpuemu
