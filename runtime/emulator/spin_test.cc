// Tests threads that wait in loops: for ever, which must be detected early, or for a while, which
// is no fault.
#include <chrono>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// %r1: thread; %r2: block; %rd1: `flag`; the word `lock` is in shared memory.
std::string entry(const std::string& body) {
  return std::string(".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"spin.cu\"\n") +
         ".visible .entry k(.param .u64 p) {\n"
         " .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>;\n"
         " .shared .b32 lock[4]; .shared .align 8 .b64 bar;\n"
         " .loc 1 10 1\n ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n" +
         body + "\n.loc 1 99 1\nret;\n}\n";
}

struct Outcome {
  LaunchReport report;
  std::vector<uint32_t> flags;
};
Outcome run(const std::string& body, Dim3 grid = {1, 1, 1}, uint32_t threads = 32,
            uint64_t timeout_ms = 20'000) {
  TestKernel kernel(entry(body), 90);
  kernel.config().grid = grid;
  kernel.config().block = {threads, 1, 1};
  kernel.config().timeout_ms = timeout_ms;
  const uint64_t flags = kernel.buffer(std::vector<uint32_t>(64, 0), "flag");
  kernel.arg(flags);
  Outcome outcome{kernel.run(false), {}};
  outcome.flags = kernel.read<uint32_t>(flags, 64);
  return outcome;
}
/// The only finding, found long before the time is over.
DeviceFinding deadlock(const std::string& body, Dim3 grid = {1, 1, 1}, uint32_t threads = 32) {
  const Outcome outcome = run(body, grid, threads);
  EXPECT_EQ(outcome.report.findings.size(), 1u);
  if (outcome.report.findings.empty()) return {};
  const DeviceFinding& finding = outcome.report.findings[0];
  EXPECT_EQ(name_of(finding.kind), "deadlock") << finding.message;
  EXPECT_LT(outcome.report.elapsed_ns, 10'000'000'000u);
  return finding;
}
void expect_clean(const Outcome& outcome) {
  for (const DeviceFinding& finding : outcome.report.findings) {
    ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
  }
}
void expect_words(const DeviceFinding& finding, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    EXPECT_NE(finding.message.find(word), std::string::npos) << finding.message;
  }
}

/// Waits until the word at %rd1 + `offset` is not zero.
std::string wait_for(const std::string& offset) {
  static int number = 0;
  const std::string label = "WAIT" + std::to_string(++number);
  return label + ": ld.volatile.global.u32 %r9, [%rd1+" + offset +
         "]; setp.eq.u32 %p7, %r9, 0; @%p7 bra " + label + ";\n";
}

TEST(Spin, BlocksThatWaitForEachOthersFlagsAreADeadlock) {
  const DeviceFinding finding =
      deadlock("setp.eq.u32 %p1, %r2, 0; @%p1 bra FIRST;\n.loc 1 20 1\n" + wait_for("4") +
                   "st.volatile.global.u32 [%rd1+8], 1; ret;\nFIRST:\n.loc 1 30 1\n" +
                   wait_for("8") + "st.volatile.global.u32 [%rd1+4], 1;",
               {2, 1, 1});
  expect_words(finding, {"no running thread writes", "reads 'flag' element ", ", which is 0",
                         "warp 0 (lanes 0xffffffff) is at", "ld.volatile.global.u32"});
  EXPECT_TRUE(finding.line == 20 || finding.line == 30) << finding.line;
}
TEST(Spin, WarpsOfABlockThatWaitForEachOtherAreADeadlock) {
  const DeviceFinding finding = deadlock(R"(
    mov.u32 %r8, 0; st.shared.u32 [lock], %r8; bar.sync 0;
    .loc 1 20 1
    W: ld.volatile.shared.u32 %r9, [lock]; setp.eq.u32 %p1, %r9, 0; @%p1 bra W;
    st.volatile.shared.u32 [lock], 1;)",
                                         {1, 1, 1}, 96);
  EXPECT_EQ(finding.line, 20u);
  expect_words(finding, {"warps 0 to 2", "('lock'[0]), which is 0"});
}
TEST(Spin, AWarpAtABarrierAndOneInALoopAreADeadlock) {
  const DeviceFinding finding = deadlock(
      "setp.lt.u32 %p1, %r1, 32; @%p1 bra SPIN;\n.loc 1 20 1\n bar.sync 0; "
      "st.volatile.global.u32 [%rd1], 1; ret;\nSPIN:\n.loc 1 30 1\n" +
          wait_for("0"),
      {1, 1, 1}, 64);
  expect_words(finding, {"spin.cu:20", "spin.cu:30", "reads 'flag' element 0, which is 0"});
}
TEST(Spin, ALockThatNobodyGivesBackIsADeadlock) {
  const DeviceFinding finding = deadlock(R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
    .loc 1 20 1
    W: atom.global.cas.b32 %r9, [%rd1+12], 0, 1; setp.ne.u32 %p2, %r9, 0; @%p2 bra W;
    END:)",
                                         {4, 1, 1});
  EXPECT_EQ(finding.line, 20u);
  expect_words(finding, {"reads 'flag' element 3, which is 1"});
}
TEST(Spin, AnExchangeThatPutsBackWhatItFindsChangesNothing) {
  expect_words(deadlock(R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
    W: atom.global.exch.b32 %r9, [%rd1], 7; setp.eq.u32 %p2, %r9, 7; @%p2 bra W; bra W;
    END:)"),
               {"reads 'flag' element 0, which is 7"});
}
TEST(Spin, LanesThatWaitForALaneThatWaitsForThemAreADeadlock) {
  deadlock("setp.eq.u32 %p1, %r1, 0; @%p1 bra FIRST;\n" + wait_for("4") +
           "st.volatile.global.u32 [%rd1], 1; bra END;\nFIRST:\n" + wait_for("0") +
           "st.volatile.global.u32 [%rd1+4], 1;\nEND:");
}
TEST(Spin, AnMbarrierWithAnArrivalTooFewIsADeadlock) {
  const DeviceFinding finding = deadlock(R"(
    setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bar], 3; bar.sync 0;
    setp.gt.u32 %p2, %r1, 1; @%p2 bra W;
    mbarrier.arrive.shared.b64 %rd3, [bar];
    .loc 1 20 1
    W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;)");
  expect_words(finding, {"waits for the mbarrier", "'bar'", "phase 0 still needs 1 arrivals"});
}
TEST(Spin, BlocksThatWaitForOneThatFindsNoRoomAreADeadlock) {
  const std::string text = entry("setp.eq.u32 %p1, %r2, 999; @%p1 bra LAST;\n" + wait_for("0") +
                                 "ret;\nLAST: st.volatile.global.u32 [%rd1], 1;");
  const auto device = make_emulator(
      {.sm = 90, .threads = 2, .memory_limit_bytes = uint64_t{8} << 20, .name = "small"});
  LaunchConfig config;
  config.entry = "k";
  config.grid = {1000, 1, 1};
  config.block = {32, 1, 1};
  config.dynamic_shared_bytes = 40'000;
  const uint64_t flags = *device->allocate(256, "flag");
  ASSERT_TRUE(device->fill(flags, std::byte{0}, 256).ok());
  config.args.resize(1);
  config.args[0].assign(reinterpret_cast<const std::byte*>(&flags),
                        reinterpret_cast<const std::byte*>(&flags + 1));
  const auto report = device->launch(*device->load_module(text, "k"), config);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(name_of(report->findings[0].kind), "deadlock");
  expect_words(report->findings[0], {"of the 1000 blocks of the grid could not begin"});
}

TEST(Spin, ALongWaitForABlockThatComputesIsNone) {
  // Longer than several looks; the counter makes every state of the last block a new one.
  const std::string body = "setp.eq.u32 %p1, %r2, 3; @%p1 bra LAST;\n" + wait_for("0") + R"( ret;
    LAST: mov.u32 %r8, 0;
    L: add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 1000000; @%p2 bra L;
    st.volatile.global.u32 [%rd1], 1;)";
  expect_clean(run(body, {4, 1, 1}));
}
TEST(Spin, FlagsThatGoRoundAndRoundAreNone) {
  // Block b waits for its turn 400 times and gives it to the next one.
  expect_clean(run(R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 bra END; mov.u32 %r8, 0; mov.u32 %r7, %nctaid.x;
    W: ld.volatile.global.u32 %r9, [%rd1]; rem.u32 %r10, %r9, %r7; setp.ne.u32 %p2, %r10, %r2;
      @%p2 bra W;
    add.u32 %r9, %r9, 1; st.volatile.global.u32 [%rd1], %r9;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, 400; @%p3 bra W;
    END:)",
                   {5, 1, 1}));
}
TEST(Spin, TryingForAWhileIsNone) {
  expect_clean(run(R"(
    mov.u32 %r8, 0;
    W: add.u32 %r8, %r8, 1; setp.gt.u32 %p2, %r8, 400000; @%p2 bra END;
    ld.volatile.global.u32 %r9, [%rd1]; setp.eq.u32 %p1, %r9, 0; @%p1 bra W;
    END:)",
                   {2, 1, 1}));
}
TEST(Spin, ATicketLockIsNone) {
  const Outcome outcome = run(R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 bra END; mov.u32 %r8, 0;
    AGAIN: atom.global.add.u32 %r10, [%rd1], 1;
    W: ld.volatile.global.u32 %r9, [%rd1+4]; setp.ne.u32 %p2, %r9, %r10; @%p2 bra W;
    membar.gl;
    ld.volatile.global.u32 %r11, [%rd1+8]; add.u32 %r11, %r11, 1;
    st.volatile.global.u32 [%rd1+8], %r11;
    membar.gl;
    add.u32 %r9, %r9, 1; st.volatile.global.u32 [%rd1+4], %r9;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, 100; @%p3 bra AGAIN;
    END:)",
                              {16, 1, 1}, 64);
  expect_clean(outcome);
  EXPECT_EQ(outcome.flags[2], 1600u);
}
TEST(Spin, ALoopThatReadsAndChangesNothingNeverEnds) {
  const DeviceFinding finding = deadlock(".loc 1 20 1\nW: bra W;", {3, 1, 1}, 64);
  EXPECT_EQ(finding.line, 20u);
  expect_words(finding, {"a loop that reads and changes nothing never ends", "spin.cu:20"});
  deadlock(
      " .local .b32 go; mov.u32 %r8, 1; st.volatile.local.u32 [go], %r8;\n"
      "W: ld.volatile.local.u32 %r9, [go]; setp.ne.u32 %p1, %r9, 0; @%p1 bra W;");
}
TEST(Spin, ALoopWithUndefinedValuesNowAndThenIsNone) {
  // Each round has a value of a lane that takes no part, and drops it.
  const std::string body =
      "setp.gt.u32 %p1, %r1, 15; @%p1 bra END; mov.u32 %r8, 0;\n"
      "L: shfl.sync.down.b32 %r9, %r8, 16, 31, 0xffff; mov.u32 %r9, 0;\n"
      "add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 2000; @%p2 bra L;\nEND:";
  for (uint64_t seed = 0; seed < 8; ++seed) {
    TestKernel kernel(entry(body), 90);
    kernel.config().thread_order = ThreadOrder::Random;
    kernel.config().thread_order_seed = seed;
    kernel.arg(uint64_t{0}).run();
  }
}
TEST(Spin, ALoopThatStoresBehindAShuffleIsNone) {
  // In machine code, which goes from the shuffle on to the store without a stop. What another warp
  // stores ends the loop.
  TestKernel kernel(entry(R"(
    setp.gt.u32 %p1, %r1, 31; @%p1 bra OTHER; shl.b32 %r7, %r1, 2; cvt.u64.u32 %rd2, %r7;
    add.u64 %rd2, %rd2, %rd1;
    W: shfl.sync.bfly.b32 %r9, %r1, 1, 31, 0xffffffff; ld.volatile.global.u32 %r10, [%rd2+512];
    add.u32 %r10, %r10, 1; st.volatile.global.u32 [%rd2+512], %r10; mov.u32 %r10, 0; mov.u32 %r9, 0;
    ld.volatile.global.u32 %r9, [%rd1]; setp.eq.u32 %p2, %r9, 0; mov.u32 %r9, 0; @%p2 bra W;
    ret;
    OTHER: ld.volatile.global.u32 %r9, [%rd1+512]; setp.lt.u32 %p2, %r9, 60000; @%p2 bra OTHER;
    st.volatile.global.u32 [%rd1], 1;)"),
                    90, 1, MachineCode::Always);
  kernel.config().block = {64, 1, 1};
  kernel.config().sanitize = {DeviceCheck::Memory};
  const uint64_t flags = kernel.buffer(std::vector<uint32_t>(256, 0), "flag");
  kernel.arg(flags).run();
  EXPECT_GE(kernel.read<uint32_t>(flags, 256)[128], 60000u);
}
TEST(Spin, ATimeOutIsReportedThoughTheWarpEndsWhileItIsLookedAt) {
  TestKernel kernel(entry("mov.u32 %r8, 0; L: add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 22000; "
                          "@%p1 bra L;"),
                    90);
  kernel.config().block = {64, 1, 1};
  kernel.config().warp_instructions_max = 1;
  kernel.arg(uint64_t{0});
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "timeout") << report.findings[0].message;
}
TEST(Spin, OneEndlessWarpBesideThoseThatWaitIsADeadlock) {
  expect_words(deadlock("setp.lt.u32 %p1, %r1, 32; @%p1 bra W;\n.loc 1 20 1\n" + wait_for("0") +
                            "ret;\n.loc 1 30 1\nW: bra W;",
                        {1, 1, 1}, 64),
               {"spin.cu:20", "spin.cu:30", "reads 'flag' element 0, which is 0"});
}

/// Waits as the barriers of libcu++ do: at first eagerly, then with pauses that follow a clock.
std::string wait_with_pauses(const std::string& test) {
  return "mov.u64 %rd5, %globaltimer; mov.u32 %r8, 0; bra TRY;\n"
         "AGAIN: add.u32 %r8, %r8, 1;\n"
         "TRY: " +
         test +
         " @%p3 bra GO; setp.lt.u32 %p4, %r8, 16; @%p4 bra AGAIN;\n"
         "mov.u64 %rd6, %globaltimer; sub.s64 %rd6, %rd6, %rd5;\n"
         "setp.lt.s64 %p4, %rd6, 40000; @%p4 bra TRY;\n"
         "setp.lt.s64 %p4, %rd6, 4000000; @%p4 bra SHORT;\n"
         "nanosleep.u32 1000000; bra TRY;\n"
         "SHORT: shr.u64 %rd6, %rd6, 2; cvt.u32.u64 %r9, %rd6; nanosleep.u32 %r9; bra TRY;\nGO:";
}
TEST(Spin, AWaitWithPausesThatFollowAClockIsADeadlock) {
  const DeviceFinding finding = deadlock(
      "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bar], 65; bar.sync 0;\n"
      "mbarrier.arrive.shared.b64 %rd3, [bar];\n.loc 1 20 1\n" +
          wait_with_pauses("mbarrier.test_wait.shared.b64 %p3, [bar], %rd3;"),
      {2, 1, 1}, 64);
  expect_words(finding, {"still needs 1 arrivals", "hours later on the device's clock"});
  deadlock(wait_with_pauses("ld.acquire.gpu.global.u32 %r9, [%rd1]; setp.ne.u32 %p3, %r9, 0;"),
           {4, 1, 1}, 64);
}
TEST(Spin, AWaitWithPausesForABlockThatComputesIsNone) {
  expect_clean(
      run("setp.eq.u32 %p1, %r2, 3; @%p1 bra LAST;\n" +
              wait_with_pauses("ld.acquire.gpu.global.u32 %r9, [%rd1]; setp.ne.u32 %p3, %r9, 0;") +
              R"( ret;
    LAST: mov.u32 %r8, 0;
    L: add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 1000000; @%p2 bra L;
    st.volatile.global.u32 [%rd1], 1;)",
          {4, 1, 1}));
}
TEST(Spin, AWaitThatEndsAfterSecondsOfTheDeviceIsNone) {
  // The flag is never set; the waiting thread stops after 2 s (2^31 ns) and tries again.
  const Outcome outcome = run(R"(
    mov.u32 %r8, 0;
    NEXT: mov.u64 %rd5, %globaltimer;
    W: ld.volatile.global.u32 %r9, [%rd1]; setp.ne.u32 %p3, %r9, 0; @%p3 bra END;
    mov.u64 %rd6, %globaltimer; sub.u64 %rd6, %rd6, %rd5; setp.lt.u64 %p4, %rd6, 2147483648;
    @%p4 bra W;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p4, %r8, 3; @%p4 bra NEXT;
    st.global.u32 [%rd1+4], %r8;
    END:)",
                              {2, 1, 1}, 32);
  expect_clean(outcome);
  EXPECT_EQ(outcome.flags[1], 3u);
}
TEST(Spin, ATimeOutSaysWhatTheThreadsRead) {
  // A counter makes every round different, so it is undecidable whether the loop ends.
  const Outcome outcome = run(R"(
    .loc 1 20 1
    W: add.u32 %r8, %r8, 1; ld.volatile.global.u32 %r9, [%rd1+20]; setp.eq.u32 %p1, %r9, 0;
      @%p1 bra W;)",
                              {1, 1, 1}, 32, 300);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(name_of(outcome.report.findings[0].kind), "timeout");
  expect_words(outcome.report.findings[0], {"spin.cu:20", "reads 'flag' element 5, which is 0"});
}

}  // namespace
}  // namespace gpuemu::emulator
