// A worker on a thread of this process, with the emulator.
#include "daemon/local_worker/worker_thread.h"

#include "daemon/executor/fakes/plan_fixture.h"
#include "daemon/worker/worker_client.h"
#include "runtime/device/device.h"

namespace gpuemu {
namespace {

constexpr const char* kPtx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 y, .param .u32 n) {
  .reg .b32 %r<2>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 4;
  add.u64 %rd5, %rd1, %rd4;
  add.u64 %rd6, %rd2, %rd4;
  add.u64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
  ret;
}
.visible .entry spin(.param .u64 a, .param .u64 b, .param .u64 y, .param .u32 n) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [a];
AGAIN:
  atom.global.add.u32 %r1, [%rd1], 1;
  bra AGAIN;
}
)";

class OnAThread : public testing::Test {
 protected:
  static WorkerOptions options(const std::string& backend = "emulator") {
    WorkerOptions options;
    options.program = "/nowhere/gpuemu-worker";
    options.backend = backend;
    return options;
  }
  static ExecutionPlan plan(const std::string& entry) {
    ExecutionPlan plan = add_plan(entry);
    plan.launches[0].block = {4, 1, 1};
    plan.timeout_ms = entry == "spin" ? 200 : 60'000;
    return plan;
  }
  Result<ExecutionReport> run(WorkerClient& worker, const std::string& entry) {
    GPUEMU_TRY(worker.load("key", "add.ptx", kPtx));
    GPUEMU_TRY(worker.begin(plan(entry)));
    return worker.finish();
  }
  Arena arena_ = add_arena();
};

TEST_F(OnAThread, ExecutesAPlanInTheSharedArena) {
  WorkerClient worker(options(), {&arena_}, worker_thread);
  ASSERT_TRUE(arena_.grow(8 << 20));
  const auto properties = worker.properties();
  ASSERT_TRUE(properties) << properties.error().message;
  EXPECT_EQ(properties->backend, "emulator");
  const auto report = run(worker, "add");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(floats_at(arena_, 128), (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(worker.pid(), -1);
}

TEST_F(OnAThread, TellsWhatAProcessTells) {
  WorkerClient worker(options(), {&arena_}, worker_thread);
  const auto broken = worker.load("broken", "broken.ptx", "no ptx");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::Compile);
  EXPECT_TRUE(run(worker, "add"));
  WorkerClient nothing(options("cuda-of-another-world"), {&arena_}, worker_thread);
  EXPECT_FALSE(nothing.properties());
}

TEST_F(OnAThread, AKernelThatNeverEndsIsAFindingAndTheNextPlanRuns) {
  WorkerClient worker(options(), {&arena_}, worker_thread);
  const auto report = run(worker, "spin");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_FALSE(report->device.empty());
  EXPECT_EQ(report->device[0].kind, DeviceFindingKind::Timeout);
  EXPECT_TRUE(run(worker, "add"));
}

TEST_F(OnAThread, ACancelledPlanEndsAtItsTimeOut) {
  WorkerClient worker(options(), {&arena_}, worker_thread);
  ASSERT_TRUE(worker.load("key", "add.ptx", kPtx));
  ExecutionPlan endless = plan("spin");
  endless.timeout_ms = 1'500;
  ASSERT_TRUE(worker.begin(endless));
  const std::atomic<bool> cancel = true;
  const auto cancelled = worker.finish(&cancel);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
  EXPECT_TRUE(run(worker, "add"));
  EXPECT_EQ(worker.restarts(), 1U);
}

TEST_F(OnAThread, EndsWithAPlanInFlight) {
  WorkerClient worker(options(), {&arena_}, worker_thread);
  ASSERT_TRUE(worker.load("key", "add.ptx", kPtx));
  EXPECT_TRUE(worker.begin(plan("spin")));
}

TEST_F(OnAThread, TakesThePlaceOfAProcessThatCannotBeStarted) {
  std::vector<std::string> lines;
  const auto log = [&](const std::string& line) { lines.push_back(line); };
  WorkerClient worker(options(), {&arena_}, [&] { return worker_process_or_thread(log); });
  const auto report = run(worker, "add");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("cannot start /nowhere/gpuemu-worker"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace gpuemu
