// Tests asynchronous copies that arrive when they are waited for, and the barriers that count them.
#include <algorithm>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// %r1: thread; %r3: its word of `tile`; %rd1: its word of `data`; %rd5: `data`; %rd6: `out`;
/// `bar` and `done` are mbarriers.
std::string entry(const std::string& body) {
  return std::string(".version 8.6\n.target sm_90\n.address_size 64\n") +
         ".file 1 \"copy.cu\"\n.visible .entry k(.param .u64 p, .param .u64 q) {\n"
         " .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<5>;\n"
         " .shared .align 16 .b32 tile[256]; .shared .align 8 .b64 bar; .shared .align 8 .b64 "
         "done;\n"
         " .loc 1 10 1\n ld.param.u64 %rd5, [p]; ld.param.u64 %rd6, [q]; mov.u32 %r1, %tid.x;\n"
         " shl.b32 %r2, %r1, 2; mov.u32 %r3, tile; add.u32 %r3, %r3, %r2;\n"
         " mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd5, %rd2; add.u64 %rd6, %rd6, %rd2;\n" +
         body + "\n.loc 1 99 1\nret;\n}\n";
}

struct Outcome {
  std::vector<DeviceFinding> findings;
  std::vector<uint32_t> out;
};
/// Runs it on data 1000, 1001 ...
Outcome run(const std::string& body, uint32_t threads = 32) {
  TestKernel kernel(entry(body), 90);
  std::vector<uint32_t> data(256);
  for (uint32_t i = 0; i < data.size(); ++i) data[i] = 1000 + i;
  kernel.config().block = {threads, 1, 1};
  kernel.config().timeout_ms = 60'000;
  const uint64_t in = kernel.buffer(data, "data");
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(256, 7), "out");
  kernel.arg(in).arg(out);
  const LaunchReport report = kernel.run(false);
  return {report.findings, kernel.read<uint32_t>(out, 256)};
}
Outcome clean(const std::string& body, uint32_t threads = 32) {
  Outcome outcome = run(body, threads);
  for (const DeviceFinding& finding : outcome.findings) {
    ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
  }
  return outcome;
}
DeviceFinding only(const std::string& body, uint32_t threads = 32) {
  const Outcome outcome = run(body, threads);
  EXPECT_EQ(outcome.findings.size(), 1u);
  for (const DeviceFinding& finding : outcome.findings) SCOPED_TRACE(finding.message);
  return outcome.findings.empty() ? DeviceFinding{} : outcome.findings[0];
}
const std::string kStore = "ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd6], %r6;";
/// Thread 0 prepares `bar` for as many arrivals.
std::string barrier_for(const std::string& count) {
  return "setp.eq.u32 %p4, %r1, 0; @%p4 mbarrier.init.shared.b64 [bar], " + count +
         "; fence.mbarrier_init.release.cluster; bar.sync 0;\n";
}
std::string wait_for(const std::string& parity) {
  static int number = 0;
  const std::string label = "WAIT" + std::to_string(++number);
  return label + ": mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], " + parity +
         "; @!%p1 bra " + label + ";\n";
}

TEST(AsyncCopy, ArrivesAtTheWait) {
  const Outcome got = clean(
      "cp.async.ca.shared.global [%r3], [%rd1], 4; cp.async.commit_group; "
      "cp.async.wait_group 0;" +
      kStore);
  EXPECT_EQ(got.out[0], 1000u);
  EXPECT_EQ(got.out[31], 1031u);
}
TEST(AsyncCopy, ReadBeforeTheWaitNamesBothPlaces) {
  const DeviceFinding finding = only(
      "mov.u32 %r7, 5; st.shared.u32 [%r3], %r7; .loc 1 20 1\n cp.async.ca.shared.global [%r3], "
      "[%rd1], 4; cp.async.commit_group;\n.loc 1 30 1\n" +
      kStore);
  EXPECT_EQ(name_of(finding.kind), "race_async");
  EXPECT_EQ(finding.line, 30u);
  EXPECT_EQ(finding.count, 32u);
  EXPECT_NE(finding.message.find("('tile'[0])"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("copy.cu:20"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("thread (0,0,0)"), std::string::npos) << finding.message;
}
TEST(AsyncCopy, BytesAreOldUntilTheWait) {
  const Outcome got =
      run("mov.u32 %r7, 5; st.shared.u32 [%r3], %r7; cp.async.ca.shared.global "
          "[%r3], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 1;" +
          kStore);
  EXPECT_EQ(got.out[3], 5u);
  EXPECT_EQ(got.findings.size(), 1u);
}
TEST(AsyncCopy, WaitsForTheOldestGroupsOnly) {
  const Outcome got = clean(R"(
    cp.async.ca.shared.global [%r3], [%rd1], 4; cp.async.commit_group;
    cp.async.ca.shared.global [%r3+512], [%rd1+128], 4; cp.async.commit_group;
    cp.async.wait_group 1; ld.shared.u32 %r6, [%r3]; cp.async.wait_all;
    ld.shared.u32 %r7, [%r3+512];
    sub.u32 %r6, %r7, %r6; st.global.u32 [%rd6], %r6;)");
  EXPECT_EQ(got.out[9], 32u);
}
TEST(AsyncCopy, EachLaneHasGroupsOfItsOwn) {
  // Odd lanes commit a second, empty group: for them one group in flight is the empty one.
  const Outcome got = run(R"(
    mov.u32 %r7, 5; st.shared.u32 [%r3], %r7; and.b32 %r8, %r1, 1; setp.eq.u32 %p1, %r8, 1;
    cp.async.ca.shared.global [%r3], [%rd1], 4; cp.async.commit_group; @%p1 cp.async.commit_group;
    cp.async.wait_group 1;)" +
                          kStore);
  EXPECT_EQ(got.out[4], 5u);
  EXPECT_EQ(got.out[5], 1005u);
  ASSERT_EQ(got.findings.size(), 1u);
  EXPECT_EQ(got.findings[0].count, 16u);
}
TEST(AsyncCopy, SourceSizeAndIgnoredSourceFillWithZeros) {
  const std::string end =
      " cp.async.wait_all; bar.warp.sync 0xffffffff; ld.shared.u32 %r6, [%r3]; st.global.u32 "
      "[%rd6], %r6;";
  const std::string rows =
      "setp.lt.u32 %p2, %r1, 8; shl.b32 %r4, %r1, 4; mov.u32 %r5, tile; add.u32 "
      "%r5, %r5, %r4; mul.wide.u32 %rd7, %r1, 16; add.u64 %rd7, %rd5, %rd7;";
  const Outcome part = clean(rows + "@%p2 cp.async.cg.shared.global [%r5], [%rd7], 16, 6;" + end);
  EXPECT_EQ(part.out[0], 1000u);
  EXPECT_EQ(part.out[1], 1001u);
  EXPECT_EQ(part.out[2], 0u);
  const Outcome none =
      clean(rows +
            "and.b32 %r8, %r1, 1; setp.eq.u32 %p1, %r8, 1; mov.b64 %rd8, 0x12f0000000000000; @%p2 "
            "cp.async.cg.shared.global.L2::cache_hint [%r5], [%rd7], 16, %p1, %rd8;" +
            end);
  EXPECT_EQ(none.out[3], 1003u);
  EXPECT_EQ(none.out[5], 0u);
}
TEST(AsyncCopy, SourceOutsideIsReportedAtTheCopy) {
  EXPECT_EQ(
      name_of(only("cp.async.ca.shared.global [%r3], [%rd1+1024], 4; cp.async.wait_all;").kind),
      "out_of_bounds");
}
TEST(AsyncCopy, OtherWarpNeedsABarrierBehindTheWait) {
  const std::string copy = "cp.async.ca.shared.global [%r3], [%rd1], 4; cp.async.wait_all;";
  const std::string other =
      "xor.b32 %r4, %r2, 128; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4; "
      "ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd6], %r6;";
  EXPECT_EQ(clean(copy + "bar.sync 0;" + other, 64).out[0], 1032u);
  for (const DeviceFinding& finding : run(copy + other, 64).findings) {
    EXPECT_TRUE(name_of(finding.kind) == "race_shared" || name_of(finding.kind) == "uninitialized")
        << finding.message;
  }
  EXPECT_FALSE(run(copy + other, 64).findings.empty());
}

TEST(AsyncCopy, ItsSourceMayNotBeWrittenByAnotherWarp) {
  const std::string half =
      "setp.ge.u32 %p1, %r1, 32; @%p1 bra OTHER;\n.loc 1 20 1\n"
      "cp.async.ca.shared.global [%r3], [%rd1], 4;\n";
  const std::string other = "\nOTHER:\n.loc 1 30 1\n st.global.u32 [%rd1+-128], %r1;";
  const auto expect_race = [](const DeviceFinding& finding) {
    EXPECT_EQ(name_of(finding.kind), "race_global") << finding.message;
    EXPECT_EQ(finding.tensor, "data");
    EXPECT_EQ(finding.line + finding.other_line, 50u) << finding.message;
  };
  expect_race(only(half + "cp.async.wait_all; ret;" + other, 64));
  // The barrier orders the start of the copy and not its end.
  const std::string late = half +
                           "barrier.sync 1, 64; cp.async.wait_all; ret;\nOTHER: barrier.sync 1, "
                           "64;\n.loc 1 30 1\n st.global.u32 [%rd1+-128], %r1;";
  expect_race(only(late, 64));
  clean(half +
            "cp.async.wait_all; barrier.sync 1, 64; ret;\nOTHER: barrier.sync 1, 64;\n"
            "st.global.u32 [%rd1+-128], %r1;",
        64);
}
TEST(AsyncCopy, AStoreToItsDestinationBeforeItArrivesIsARace) {
  const Outcome got = run(
      "mov.u32 %r5, tile; setp.ge.u32 %p1, %r1, 32; @%p1 bra OTHER;\n.loc 1 20 1\n"
      "cp.async.ca.shared.global [%r3], [%rd1], 4; barrier.sync 1, 64; cp.async.wait_all; ret;\n"
      "OTHER: barrier.sync 1, 64;\n.loc 1 30 1\n st.shared.u32 [%r3+-128], %r1;",
      64);
  ASSERT_EQ(got.findings.size(), 1u);
  EXPECT_EQ(name_of(got.findings[0].kind), "race_shared") << got.findings[0].message;
  EXPECT_EQ(got.findings[0].line + got.findings[0].other_line, 50u);
}

TEST(Mbarrier, LetsEveryThreadGoOnWhenAllHaveArrived) {
  const Outcome got =
      clean(barrier_for("64") +
                "st.shared.u32 [%r3], %r1; mbarrier.arrive.shared.b64 %rd9, [bar];\n"
                "A: mbarrier.test_wait.shared.b64 %p1, [bar], %rd9; @!%p1 bra A;\n"
                "mbarrier.pending_count.b64 %r9, %rd9;"
                "xor.b32 %r4, %r2, 128; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4;"
                "ld.shared.u32 %r6, [%r5]; mad.lo.u32 %r6, %r9, 1000, %r6; "
                "st.global.u32 [%rd6], %r6;",
            64);
  EXPECT_EQ(got.out[0], 64032u);
  EXPECT_EQ(got.out[63], 1031u);
}
TEST(Mbarrier, PhasesAlternate) {
  clean(barrier_for("32") + "mbarrier.arrive.shared.b64 _, [bar];" + wait_for("0") +
        "mbarrier.arrive.shared.b64 _, [bar];" + wait_for("1") +
        "mbarrier.arrive.shared.b64 _, [bar];" + wait_for("0"));
}
TEST(Mbarrier, ArrivalsThatDropAreNotExpectedAgain) {
  clean(barrier_for("32") +
        "setp.lt.u32 %p2, %r1, 16; @%p2 mbarrier.arrive_drop.shared.b64 %rd9, "
        "[bar]; @!%p2 mbarrier.arrive.shared.b64 %rd9, [bar];" +
        wait_for("0") + "@!%p2 mbarrier.arrive.shared.b64 %rd9, [bar];" + wait_for("1"));
}
TEST(Mbarrier, MisuseIsReported) {
  const auto misuse = [](const std::string& body) {
    const DeviceFinding finding = only(body);
    EXPECT_EQ(name_of(finding.kind), "mbarrier") << finding.message;
    return finding.message;
  };
  EXPECT_NE(misuse("setp.eq.u32 %p4, %r1, 0; @%p4 mbarrier.arrive.shared.b64 %rd9, [bar];")
                .find("('bar'[0]) was not initialised"),
            std::string::npos);
  EXPECT_NE(misuse(barrier_for("3") + "@%p4 mbarrier.arrive.shared.b64 %rd9, [bar], 4;")
                .find("gets 4 arrivals while its phase waits for 3"),
            std::string::npos);
  EXPECT_NE(misuse(barrier_for("1048576")).find("1048576 arrivals"), std::string::npos);
  EXPECT_NE(
      misuse(barrier_for("1") + "@%p4 st.shared.u32 [bar], %r1; @%p4 mbarrier.arrive.shared.b64 "
                                "%rd9, [bar];")
          .find("overwritten"),
      std::string::npos);
  EXPECT_NE(misuse(barrier_for("1") + "@%p4 mbarrier.arrive.noComplete.shared.b64 %rd9, [bar], 1;")
                .find("noComplete"),
            std::string::npos);
  EXPECT_NE(misuse(barrier_for("1") + barrier_for("1")).find("initialised already"),
            std::string::npos);
  EXPECT_NE(misuse(barrier_for("1") + "@%p4 mbarrier.inval.shared.b64 [bar]; @%p4 "
                                      "mbarrier.arrive.shared.b64 %rd9, [bar];")
                .find("not initialised"),
            std::string::npos);
}
TEST(Mbarrier, CountsCopiesOfThreads) {
  const Outcome got = clean(barrier_for("32") +
                            "cp.async.ca.shared.global [%r3], [%rd1], 4; "
                            "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];" +
                            wait_for("0") +
                            "xor.b32 %r4, %r2, 4; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4; "
                            "ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd6], %r6;");
  EXPECT_EQ(got.out[0], 1001u);
  // Without .noinc the copy's arrival increases the expected count, so the thread's own arrival is
  // still needed.
  clean(barrier_for("32") +
        "cp.async.ca.shared.global [%r3], [%rd1], 4; "
        "cp.async.mbarrier.arrive.shared.b64 [bar]; mbarrier.arrive.shared.b64 "
        "%rd9, [bar];" +
        wait_for("0") + kStore);
}

const std::string kBulk =
    "@%p4 mbarrier.arrive.expect_tx.shared::cta.b64 %rd9, [bar], 128;\n @%p4 "
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd5], 128, "
    "[bar];\n";

TEST(BulkCopy, ArrivesWithItsMbarrier) {
  const Outcome got = clean(barrier_for("1") + kBulk + wait_for("0") + kStore);
  EXPECT_EQ(got.out[31], 1031u);
}
TEST(BulkCopy, ReadBeforeTheMbarrierIsFound) {
  const Outcome got =
      run(barrier_for("1") + ".loc 1 20 1\n" + kBulk + ".loc 1 30 1\n" + kStore + wait_for("0"));
  const auto finding =
      std::ranges::find(got.findings, DeviceFindingKind::RaceAsync, &DeviceFinding::kind);
  ASSERT_NE(finding, got.findings.end());
  EXPECT_EQ(finding->line, 30u);
  EXPECT_EQ(finding->other_line, 20u);
}
TEST(BulkCopy, NeedsMultiplesOfSixteen) {
  for (const char* wrong : {"[tile], [%rd5], 24, [bar]", "[tile+4], [%rd5], 16, [bar]",
                            "[tile], [%rd5+8], 16, [bar]"}) {
    EXPECT_EQ(name_of(only(barrier_for("1") +
                           "@%p4 cp.async.bulk.shared::cluster.global.mbarrier::"
                           "complete_tx::bytes " +
                           std::string(wrong) + ";")
                          .kind),
              "misaligned")
        << wrong;
  }
  EXPECT_EQ(name_of(only(barrier_for("1") +
                         "@%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx"
                         "::bytes [tile], [%rd5+1008], 32, [bar];")
                        .kind),
            "out_of_bounds");
}
TEST(BulkCopy, ThatNobodyWaitsForIsFound) {
  const DeviceFinding finding = only(barrier_for("1") + ".loc 1 20 1\n" + kBulk);
  EXPECT_EQ(name_of(finding.kind), "race_async");
  EXPECT_EQ(finding.line, 20u);
}
const std::string kFill =
    "add.u32 %r4, %r1, 50; st.shared.u32 [%r3], %r4; fence.proxy.async.shared::cta; "
    "bar.sync 0; setp.eq.u32 %p4, %r1, 0; ld.param.u64 %rd7, [q];\n";
TEST(BulkCopy, WritesAndReducesGlobalMemoryInGroups) {
  const Outcome stored = clean(kFill +
                               "@%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd7], [tile], "
                               "128; @%p4 cp.async.bulk.commit_group; @%p4 "
                               "cp.async.bulk.wait_group 0;");
  EXPECT_EQ(stored.out[31], 81u);
  EXPECT_EQ(stored.out[32], 7u);
  const Outcome added = clean(kFill +
                              "@%p4 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 "
                              "[%rd7], [tile], 128; @%p4 cp.async.bulk.commit_group; @%p4 "
                              "cp.async.bulk.wait_group.read 0;");
  EXPECT_EQ(added.out[31], 88u);
}
TEST(BulkCopy, SourceChangedBeforeTheWaitIsFound) {
  const DeviceFinding finding = only(
      kFill +
      ".loc 1 20 1\n@%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd7], [tile], 128; @%p4 "
      "cp.async.bulk.commit_group; @%p4 st.shared.u32 [tile], %r4; @%p4 "
      "st.shared.u32 [tile+4], %r1; @%p4 cp.async.bulk.wait_group 0;");
  EXPECT_EQ(name_of(finding.kind), "race_async");
  EXPECT_NE(finding.message.find("copy.cu:20"), std::string::npos) << finding.message;
}
TEST(BulkCopy, OfWhatWasStoredWithoutAFenceOfProxiesIsFound) {
  const std::string store = ".loc 1 10 1\nadd.u32 %r4, %r1, 50; st.shared.u32 [%r3], %r4;\n";
  const std::string fence = "fence.proxy.async.shared::cta;\n", barrier = "bar.sync 0;\n";
  const std::string copy =
      "setp.eq.u32 %p4, %r1, 0; ld.param.u64 %rd7, [q];\n"
      ".loc 1 20 1\n@%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd7], [tile], 128; @%p4 "
      "cp.async.bulk.commit_group; @%p4 cp.async.bulk.wait_group 0;\n";
  const DeviceFinding finding = only(store + barrier + copy);
  EXPECT_EQ(name_of(finding.kind), "race_shared");
  EXPECT_EQ(finding.line, 20u);
  EXPECT_EQ(finding.other_line, 10u);
  EXPECT_NE(finding.message.find("fence.proxy.async"), std::string::npos) << finding.message;
  EXPECT_EQ(name_of(only(store + "fence.acq_rel.gpu;\n" + barrier + copy).kind), "race_shared");
  EXPECT_EQ(name_of(only(fence + store + barrier + copy).kind), "race_shared");
  clean(store + fence + barrier + copy);
  clean(store + barrier + fence + copy);
  // Data from an asynchronous copy needs none.
  clean(barrier_for("1") + kBulk + wait_for("0") + copy);
}
TEST(BulkCopy, ItsEndsTakePartInRaces) {
  const std::string copy =
      "setp.eq.u32 %p4, %r1, 0; ld.param.u64 %rd7, [q];\n"
      ".loc 1 20 1\n@%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd7], [tile], 128; @%p4 "
      "cp.async.bulk.commit_group; @%p4 cp.async.bulk.wait_group 0;\n";
  const std::string fill =
      "add.u32 %r4, %r1, 50; st.shared.u32 [%r3], %r4; fence.proxy.async.shared::cta; "
      "bar.sync 0;\n";
  // Warp 1 writes the second half of both.
  const auto with = [&](const std::string& write) {
    return run(fill + copy + "setp.lt.u32 %p1, %r1, 32; @%p1 ret;\n.loc 1 30 1\n" + write, 64);
  };
  const Outcome global = with("st.global.u32 [%rd6+-64], %r1;");
  ASSERT_EQ(global.findings.size(), 1u);
  EXPECT_EQ(name_of(global.findings[0].kind), "race_global") << global.findings[0].message;
  EXPECT_EQ(global.findings[0].tensor, "out");
  const Outcome shared = with("st.shared.u32 [%r3+-64], %r1;");
  ASSERT_GE(shared.findings.size(), 1u);
  EXPECT_EQ(name_of(shared.findings[0].kind), "race_shared") << shared.findings[0].message;
  EXPECT_TRUE(with("st.global.u32 [%rd6], %r1;").findings.empty());
}

}  // namespace
}  // namespace gpuemu::emulator
