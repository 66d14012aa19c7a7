#include "daemon/executor/execute.h"

#include "daemon/executor/execute_buffer.h"
#include "daemon/executor/fakes/fake_device.h"
#include "daemon/executor/fakes/plan_fixture.h"

namespace gpuemu {
namespace {

using Kind = HarnessFinding::Kind;
using Floats = std::vector<float>;

class Execute : public testing::Test {
 protected:
  ExecutionReport run(const ExecutionPlan& plan) {
    auto report = execute(memory_, 1, arena_, plan);
    EXPECT_TRUE(report) << report.error().message;
    EXPECT_EQ(device_.allocation_count(), 0u) << "everything is freed";
    return report ? *std::move(report) : ExecutionReport{};
  }
  HarnessFinding only(const ExecutionPlan& plan) {
    const ExecutionReport report = run(plan);
    EXPECT_EQ(report.harness.size(), 1u);
    return report.harness.empty() ? HarnessFinding{} : report.harness[0];
  }
  FakeDevice device_{false};
  RunMemory memory_{device_};
  Arena arena_ = add_arena();
};

TEST_F(Execute, WritesTheOutputsOfACorrectKernelAndFindsNothing) {
  const ExecutionReport report = run(add_plan("add"));
  EXPECT_TRUE(report.harness.empty());
  EXPECT_EQ(floats_at(arena_, 128), (Floats{11, 22, 33, 44}));
  EXPECT_EQ(device_.launch_count(), 2u);
  EXPECT_EQ(report.elapsed_ns, 10u);
  EXPECT_EQ(report.thread_instructions, 4u);
}

TEST_F(Execute, TellsWhichElementsWereNotWritten) {
  const HarnessFinding finding = only(add_plan("add_tail_missing"));
  EXPECT_EQ(finding.kind, Kind::NotWritten);
  EXPECT_EQ(finding.tensor, "y");
  EXPECT_EQ(finding.first_index, 2);
  EXPECT_EQ(finding.count, 2u);
}

TEST_F(Execute, SaysOnceWhatNoRunChecked) {
  ExecutionPlan plan = add_plan("large");
  plan.sanitize = DeviceChecks{DeviceCheck::Schedule};
  const ExecutionReport report = run(plan);
  EXPECT_EQ(device_.launch_count(), 2u) << "a note ends no series of runs";
  ASSERT_EQ(report.device.size(), 1u);
  EXPECT_TRUE(is_unchecked(report.device[0]));
}

TEST_F(Execute, AnOutputThatBeginsWithValuesKeepsThemWhereTheKernelWritesNone) {
  ExecutionPlan plan = add_plan("add_tail_missing");
  const float half = 0.5;
  const auto* bytes = reinterpret_cast<const std::byte*>(&half);
  plan.tensors[2].initial = {bytes, bytes + sizeof half};
  EXPECT_TRUE(run(plan).harness.empty());
  EXPECT_EQ(floats_at(arena_, 128), (Floats{11, 22, 0.5, 0.5}));
  EXPECT_TRUE(device_.forgotten().empty()) << "it may be read";
}

TEST_F(Execute, OneRunShowsUnwrittenFloatsToo) {
  ExecutionPlan plan = add_plan("add_tail_missing");
  plan.runs = 1;
  EXPECT_EQ(only(plan).kind, Kind::NotWritten);
}

TEST_F(Execute, FindsAWriteBehindTheEnd) {
  const HarnessFinding finding = only(add_plan("add_behind"));
  EXPECT_EQ(finding.kind, Kind::GuardDamaged);
  EXPECT_EQ(finding.first_index, 5) << "one float is skipped";
  EXPECT_EQ(finding.count, 4u);
}

TEST_F(Execute, FindsAWriteBeforeTheStart) {
  const HarnessFinding finding = only(add_plan("add_before"));
  EXPECT_EQ(finding.kind, Kind::GuardDamaged);
  EXPECT_EQ(finding.first_index, -4);
}

TEST_F(Execute, FindsAWriteBeforeABaseOffsetEvenWhereTheDeviceChecksBounds) {
  FakeDevice checking(true);
  RunMemory memory(checking);
  ExecutionPlan plan = add_plan("add_before");
  plan.tensors[2].base_offset_bytes = 16;
  auto report = execute(memory, 1, arena_, plan);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->harness.size(), 1u);
  EXPECT_EQ(report->harness[0].first_index, -4);
}

TEST_F(Execute, FindsAModifiedInput) {
  const HarnessFinding finding = only(add_plan("add_changes_b"));
  EXPECT_EQ(finding.kind, Kind::InputModified);
  EXPECT_EQ(finding.tensor, "b");
  EXPECT_EQ(finding.first_index, 1);
  EXPECT_EQ(finding.count, 1u);
}

TEST_F(Execute, PoisonCountsAsUnwrittenAndInputsDoNot) {
  ExecutionPlan plan = add_plan("add");
  plan.tensors.push_back(plan_vector("c", PlanTensor::Role::InOut, 192));
  plan.tensors.push_back(plan_vector("s", PlanTensor::Role::Scratch, 0));
  plan.runs = 1;
  run(plan);
  std::vector<std::pair<uint64_t, uint64_t>> bodies;  // y and s, between their guards.
  for (const size_t i : {2, 4}) bodies.emplace_back(device_.addresses()[i] + kGuardBytes, 16);
  EXPECT_EQ(device_.forgotten(), bodies);
}

TEST_F(Execute, OnlyPlainOutputsAreToBeWrittenOnce) {
  ExecutionPlan plan = add_plan("add_twice");
  const ExecutionReport plain = run(plan);
  ASSERT_EQ(plain.device.size(), 1u);
  EXPECT_EQ(plain.device[0].tensor, "y");
  const uint32_t before = device_.launch_count();
  plan.tensors[2].role = PlanTensor::Role::InOut;
  EXPECT_TRUE(run(plan).device.empty());
  EXPECT_EQ(device_.launch_count(), before + 2) << "the second run is not left out";
}

TEST_F(Execute, FindsOutputsThatDifferBetweenRuns) {
  const HarnessFinding finding = only(add_plan("add_random"));
  EXPECT_EQ(finding.kind, Kind::NonDeterministic);
  EXPECT_EQ(finding.first_index, 2);
  EXPECT_EQ(finding.count, 1u);
}

TEST_F(Execute, SaysWhichRunLeftAnElementAloneThatAnotherWrote) {
  const HarnessFinding finding = only(add_plan("add_once"));
  EXPECT_EQ(finding.kind, Kind::NonDeterministic);
  EXPECT_EQ(finding.message.find("; run 2 did not write it: what the kernel keeps"), 0u)
      << finding.message;
  EXPECT_EQ(only(add_plan("add_random")).message.find("; set deterministic = false"), 0u);
}

TEST_F(Execute, NonDeterminismCanBeAllowed) {
  ExecutionPlan plan = add_plan("add_random");
  plan.deterministic = false;
  EXPECT_TRUE(run(plan).harness.empty());
}

TEST_F(Execute, NoRunHasTheAddressesOfTheOneBefore) {
  ExecutionPlan plan = add_plan("add");
  plan.runs = 3;
  run(plan);
  const auto& seen = device_.addresses();
  ASSERT_EQ(seen.size(), 9u);
  for (size_t i = 3; i < seen.size(); ++i) {
    EXPECT_EQ(std::count(seen.begin() + static_cast<long>(i / 3 * 3 - 3),
                         seen.begin() + static_cast<long>(i / 3 * 3), seen[i]),
              0)
        << "allocation " << i;
  }
}

/// Other inputs at offsets of their own.
ExecutionPlan warmup_plan(Arena& arena, const std::string& entry) {
  ExecutionPlan plan = add_plan(entry);
  plan.warmup = true;
  for (uint64_t i = 0; i < 2; ++i) {
    plan.tensors[i].warmup_offset = 512 + 64 * i;
    const float values[4] = {5, 6, 7, 8};
    std::memcpy(arena.range(512 + 64 * i, sizeof values)->data(), values, sizeof values);
  }
  return plan;
}

TEST_F(Execute, AWarmupOnOtherInputsDoesNotChangeWhatACorrectKernelGives) {
  EXPECT_TRUE(run(warmup_plan(arena_, "add")).harness.empty());
  EXPECT_EQ(floats_at(arena_, 128), (Floats{11, 22, 33, 44}));
  EXPECT_EQ(device_.launch_count(), 3u);
}

TEST_F(Execute, AWarmupShowsAResultThatIsKeptForAnAddress) {
  ExecutionPlan plan = warmup_plan(arena_, "add_cached");
  plan.deterministic = false;
  const HarnessFinding finding = only(plan);
  EXPECT_EQ(finding.kind, Kind::StaleOutput);
  EXPECT_EQ(finding.tensor, "y");
  EXPECT_EQ(finding.count, 4u);
  EXPECT_EQ(floats_at(arena_, 128)[0], 10) << "5 + 5 of the warmup, which the values then show";
}

TEST_F(Execute, AFaultInTheWarmupIsAFindingToo) {
  const ExecutionReport report = run(warmup_plan(arena_, "fault"));
  EXPECT_EQ(report.device.size(), 1u);
  EXPECT_EQ(device_.launch_count(), 1u);
}

TEST_F(Execute, AWarmupThatDoesNotEndLeavesTheCaseItsTime) {
  FakeDevice emulator(false, 0, "emulator");
  RunMemory memory(emulator);
  ExecutionPlan plan = warmup_plan(arena_, "endless_at_five");
  plan.timeout_ms = 900;
  const auto report = execute(memory, 1, arena_, plan);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->device.empty()) << "the case's own inputs are others";
  EXPECT_EQ(floats_at(arena_, 128), (Floats{11, 22, 33, 44}));
}

TEST_F(Execute, ALaunchThatDoesNotEndNamesTheLimitThatSomebodyHasSet) {
  FakeDevice emulator(false, 0, "emulator");
  RunMemory memory(emulator);
  ExecutionPlan plan = warmup_plan(arena_, "endless_at_five");
  plan.timeout_ms = 300;
  const float five = 5;
  std::memcpy(arena_.range(plan.tensors[0].arena_offset, sizeof five)->data(), &five, sizeof five);
  const auto report = execute(memory, 1, arena_, plan);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->device.size(), 1U);
  const std::string& said = report->device.front().message;
  unsigned last = 0;
  ASSERT_EQ(
      std::sscanf(said.c_str(), "the launch did not end within the last %u of the 300 ms", &last),
      1)
      << said;
  EXPECT_GT(last, 20U) << "the warmup had a third of the time";
  EXPECT_LE(last, 200U);
  EXPECT_NE(said.find("(runtime.case_timeout_ms)"), std::string::npos) << said;
}

TEST_F(Execute, BlocksThatMetRunOnceMoreInIssueOrder) {
  ExecutionPlan plan = add_plan("waits_for_later_blocks");
  plan.launches[0].grown_blocks = 4096;
  EXPECT_TRUE(run(plan).device.empty()) << "nobody asks for `schedule`";
  EXPECT_EQ(device_.launch_count(), 2u);
  plan.sanitize = {DeviceCheck::Schedule};
  const ExecutionReport report = run(plan);
  ASSERT_EQ(report.device.size(), 1u) << "what else that run shows, the others show";
  EXPECT_EQ(report.device[0].kind, DeviceFindingKind::Deadlock);
  EXPECT_EQ(report.device[0].message, "of a launch that may become one of 4096");
  EXPECT_EQ(device_.launch_count(), 4u) << "the second run is left out";
}

TEST_F(Execute, AnInOutTensorStartsFromItsInputInEachRun) {
  ExecutionPlan plan = add_plan("add_into_a");
  plan.tensors[0].role = PlanTensor::Role::InOut;
  plan.tensors[0].output_offset = 256;
  plan.tensors[2].role = PlanTensor::Role::Scratch;
  EXPECT_TRUE(run(plan).harness.empty());
  EXPECT_EQ(floats_at(arena_, 256), (Floats{11, 22, 33, 44}));
  EXPECT_EQ(floats_at(arena_, 0), (Floats{1, 2, 3, 4}));
}

TEST_F(Execute, GapsOfALayoutAreGuardedToo) {
  ExecutionPlan plan = add_plan("add_strided");
  plan.tensors[2].shape = {2, 1};
  plan.tensors[2].layout = padded_layout({2, 1}, 1);
  const HarnessFinding finding = only(plan);
  EXPECT_EQ(finding.kind, Kind::GuardDamaged);
  EXPECT_NE(finding.message.find("at byte 4"), std::string::npos) << finding.message;
}

TEST_F(Execute, EmptyTensorsAreFine) {
  ExecutionPlan plan = add_plan("add");
  for (PlanTensor& tensor : plan.tensors) {
    tensor.shape = {0};
    tensor.layout = contiguous_layout({0});
  }
  plan.launches[0].args[3].scalar.assign(4, std::byte{0});
  EXPECT_TRUE(run(plan).harness.empty());
}

TEST_F(Execute, AFaultEndsTheRunsAndIsRelativeToTheTensor) {
  ExecutionPlan plan = add_plan("fault");
  plan.launches.push_back(add_plan("add").launches[0]);
  const ExecutionReport report = run(plan);
  EXPECT_EQ(device_.launch_count(), 1u);
  ASSERT_EQ(report.device.size(), 1u);
  EXPECT_EQ(report.device[0].byte_offset, 0);
  EXPECT_TRUE(report.harness.empty());
}

TEST_F(Execute, ARaceLetsTheRunEndButNotRepeat) {
  const ExecutionReport report = run(add_plan("race"));
  EXPECT_EQ(report.device.size(), 1u);
  EXPECT_EQ(device_.launch_count(), 1u);
  EXPECT_EQ(floats_at(arena_, 128), (Floats{11, 22, 33, 44}));
}

TEST_F(Execute, ADeviceLostByAFaultStillReportsTheFault) {
  const ExecutionReport report = run(add_plan("fault_and_lose"));
  EXPECT_EQ(report.device.size(), 1u);
}

TEST_F(Execute, AWrongLaunchIsAFindingWithItsText) {
  const HarnessFinding finding = only(add_plan("no_such_entry"));
  EXPECT_EQ(finding.kind, Kind::Launch);
  EXPECT_NE(finding.message.find("no_such_entry"), std::string::npos);
}

TEST_F(Execute, TheMemoryLimitIsCheckedBeforeAllocating) {
  ExecutionPlan plan = add_plan("add");
  plan.memory_limit_bytes = 100;
  auto report = execute(memory_, 1, arena_, plan);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::ResourceExhausted);
}

TEST_F(Execute, APlanThatDoesNotFitIsRefused) {
  const auto refuse = [&](auto change) {
    ExecutionPlan plan = add_plan("add");
    change(plan.tensors[0]);
    auto report = execute(memory_, 1, arena_, plan);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::InvalidArgument);
  };
  refuse([](PlanTensor& t) { t.arena_offset = 1 << 30; });
  refuse([](PlanTensor& t) { t.layout.buffer_elements = 3; });
  refuse([](PlanTensor& t) { t.layout.strides = {-1}; });
  refuse([](PlanTensor& t) { t.layout.strides = {INT64_MAX}; });
  refuse([](PlanTensor& t) { t.layout.strides = {}; });
  refuse([](PlanTensor& t) { t.shape = {-1}; });
}

TEST(Poison, IsNanInEachFloatFormatThenFinite) {
  for (uint32_t run : {0u, 1u}) {
    std::byte bytes[8];
    for (uint64_t i = 0; i < 8; ++i) bytes[i] = poison_byte(run, i);
    float single = 0;
    double wide = 0;
    uint16_t half = 0;
    std::memcpy(&single, bytes, 4);
    std::memcpy(&wide, bytes, 8);
    std::memcpy(&half, bytes, 2);
    EXPECT_EQ(single != single, run == 0);
    EXPECT_EQ(wide != wide, run == 0);
    EXPECT_EQ((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0, run == 0) << "float16";
    EXPECT_EQ((half & 0x7f80) == 0x7f80 && (half & 0x7f) != 0, run == 0) << "bfloat16";
  }
  EXPECT_NE(guard_byte(0), guard_byte(1));
}

}  // namespace
}  // namespace gpuemu
