// Tests blocks that run together: clusters with shared memory of all their blocks, and grids with
// grid-wide barriers.
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// Clusters of two blocks of 64 threads. %r1: thread; %r2: rank; %r3: word of `tile`; %rd1: word
/// of `out`, counted over the grid.
std::string entry(const std::string& body, const std::string& cluster = "2, 1, 1") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster " +
         cluster +
         " {\n"
         " .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<5>; .shared .align 8 .b32 tile[64];\n"
         " mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; shl.b32 %r4, %r1, 2;\n"
         " mov.u32 %r3, tile; add.u32 %r3, %r3, %r4; mov.u32 %r5, %ctaid.x; shl.b32 %r5, %r5, 6;\n"
         " add.u32 %r5, %r5, %r1; ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r5, 4;\n"
         " add.u64 %rd1, %rd1, %rd2; xor.b32 %r6, %r2, 1;\n" +
         body + "\nret; }\n";
}
struct Outcome {
  std::vector<DeviceFinding> findings;
  std::vector<uint32_t> out;
};
Outcome run(const std::string& text, uint32_t blocks = 4) {
  TestKernel kernel(text, 90);
  kernel.config().grid = {blocks, 1, 1};
  kernel.config().block = {64, 1, 1};
  kernel.config().timeout_ms = 60'000;
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(blocks * 64), "out");
  const LaunchReport report = kernel.arg(out).run(false);
  return {report.findings, kernel.read<uint32_t>(out, blocks * 64)};
}
std::vector<uint32_t> clean(const std::string& text, uint32_t blocks = 4) {
  const Outcome outcome = run(text, blocks);
  for (const DeviceFinding& finding : outcome.findings) {
    if (is_note(finding)) continue;
    ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
  }
  return outcome.out;
}
const std::string kSync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
const std::string kFill = "st.shared.u32 [%r3], %r5;\n" + kSync;
const std::string kEnd = kSync + "st.global.u32 [%rd1], %r7;";

TEST(Clusters, ReadTheSharedMemoryOfTheOtherBlock) {
  const auto window = clean(entry(kFill +
                                  "mapa.shared::cluster.u32 %r8, %r3, %r6; "
                                  "ld.shared::cluster.u32 %r7, [%r8];" +
                                  kEnd));
  const auto generic = clean(entry(kFill +
                                   "cvt.u64.u32 %rd3, %r3; cvta.shared.u64 %rd3, %rd3; mapa.u64 "
                                   "%rd4, %rd3, %r6; ld.u32 %r7, [%rd4];" +
                                   kEnd));
  for (uint32_t i = 0; i < 256; ++i) {
    EXPECT_EQ(window[i], i ^ 64) << i;
    EXPECT_EQ(generic[i], i ^ 64) << i;
  }
}
TEST(Clusters, WriteAndAddToTheSharedMemoryOfTheOtherBlock) {
  const auto got = clean(entry("mov.u32 %r9, 1000; st.shared.u32 [%r3], %r9;" + kSync +
                               "mapa.shared::cluster.u32 %r8, %r3, %r6; "
                               "red.shared::cluster.add.u32 [%r8], %r5;" +
                               kSync + "ld.shared.u32 %r7, [%r3];" + kEnd));
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(got[i], 1000 + (i ^ 64)) << i;
  const auto stored = clean(entry(std::string("mapa.shared::cluster.u32 %r8, %r3, %r6; ") +
                                  "st.shared::cluster.u32 [%r8], %r5;" + kSync +
                                  "ld.shared.u32 %r7, [%r3];" + kEnd));
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(stored[i], i ^ 64) << i;
}
TEST(Clusters, AnAlignedBarrierIsForAllLanesOfTheWarp) {
  const std::string half = "and.b32 %r7, %r1, 16; setp.eq.u32 %p1, %r7, 0; @%p1 bra NEXT;\n" +
                           kSync + "NEXT: st.global.u32 [%rd1], %r1;";
  const Outcome found = run(entry(half));
  ASSERT_FALSE(found.findings.empty());
  EXPECT_EQ(name_of(found.findings[0].kind), "barrier_divergence") << found.findings[0].message;
  // Lanes that have exited before do not count.
  clean(entry("and.b32 %r7, %r1, 16; setp.eq.u32 %p1, %r7, 0; @%p1 bra NEXT;\n" + kSync +
              "st.global.u32 [%rd1], %r1;\nNEXT:"));
}
TEST(Clusters, KnowTheirRanksAndSizes) {
  const auto got =
      clean(entry("mov.u32 %r7, %clusterid.x; mov.u32 %r8, %nclusterid.x; mov.u32 %r9, "
                  "%cluster_nctarank; mov.u32 "
                  "%r10, %cluster_ctaid.x; mad.lo.u32 %r7, %r7, 10, %r8; mad.lo.u32 %r7, %r7, 10, "
                  "%r9; mad.lo.u32 "
                  "%r7, %r7, 10, %r10; mov.pred %p1, %is_explicit_cluster; @!%p1 mov.u32 %r7, 0;" +
                  kEnd));
  EXPECT_EQ(got[0], 220u);
  EXPECT_EQ(got[64], 221u);
  EXPECT_EQ(got[128], 1220u);
  const auto rank =
      clean(entry("cvt.u64.u32 %rd3, %r3; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r6; "
                  "getctarank.u32 %r7, "
                  "%rd4; isspacep.shared::cluster %p1, %rd4; isspacep.shared::cta %p2, %rd4; @%p1 "
                  "add.u32 %r7, %r7, "
                  "10; @%p2 add.u32 %r7, %r7, 100;" +
                  kEnd));
  EXPECT_EQ(rank[0], 11u);
  EXPECT_EQ(rank[64], 10u);
}
TEST(Clusters, AddressesBeyondABlockAreFound) {
  const Outcome outside = run(entry(kFill +
                                    "mapa.shared::cluster.u32 %r8, %r3, %r6; "
                                    "ld.shared::cluster.u32 %r7, [%r8+256];" +
                                    kEnd));
  ASSERT_EQ(outside.findings.size(), 1u);
  EXPECT_EQ(name_of(outside.findings[0].kind), "out_of_bounds");
  EXPECT_EQ(outside.findings[0].count, 256u);
  const Outcome beyond = run(entry(kFill +
                                   "mov.u32 %r6, 2; mapa.shared::cluster.u32 %r8, %r3, %r6; "
                                   "ld.shared::cluster.u32 %r7, [%r8];" +
                                   kEnd));
  ASSERT_EQ(beyond.findings.size(), 1u);
  EXPECT_EQ(name_of(beyond.findings[0].kind), "out_of_bounds");
}
TEST(Clusters, ABlockThatHasEndedHasNoSharedMemory) {
  const Outcome got =
      run(entry("st.shared.u32 [%r3], %r5; setp.eq.u32 %p1, %r2, 0; @%p1 bra END; "
                "mapa.shared::cluster.u32 %r8, %r3, %r6; ld.shared::cluster.u32 %r7, "
                "[%r8]; END:"));
  ASSERT_EQ(got.findings.size(), 1u);
  EXPECT_NE(got.findings[0].message.find("has ended"), std::string::npos)
      << got.findings[0].message;
}
TEST(Clusters, ReadingWhatNobodyWroteIsFound) {
  const Outcome got =
      run(entry("mapa.shared::cluster.u32 %r8, %r3, %r6; ld.shared::cluster.u32 %r7, "
                "[%r8];" +
                kSync));
  ASSERT_EQ(got.findings.size(), 1u);
  EXPECT_EQ(name_of(got.findings[0].kind), "uninitialized");
}
/// Returns the first finding of a cluster of two blocks, and expects it to be a race.
DeviceFinding race_of(const std::string& body) {
  const Outcome got = run(entry(body), 2);
  if (got.findings.empty()) {
    ADD_FAILURE() << "no finding";
    return {};
  }
  EXPECT_EQ(name_of(got.findings[0].kind), "race_shared") << got.findings[0].message;
  return got.findings[0];
}
const std::string kFilled = "mov.u32 %r9, 9999; st.shared.u32 [%r3], %r9;\n";
const std::string kOther = "mapa.shared::cluster.u32 %r8, %r3, %r6;\n";
const std::string kStoreThere = kOther + "st.shared::cluster.u32 [%r8], %r5;\n";
const std::string kLoadThere = kOther + "ld.shared::cluster.u32 %r7, [%r8];\n";
const std::string kInFirst = "setp.eq.u32 %p1, %r2, 0; @!%p1 bra NEXT;\n";

TEST(Clusters, AReadAndABlocksOwnWriteWithoutABarrierRace) {
  // The first block runs first, so its read comes before the write, and the second one's after it.
  const DeviceFinding missing =
      race_of(kFilled + kSync + kLoadThere + "st.shared.u32 [%r3], %r5;" + kEnd);
  EXPECT_NE(missing.message.find("of block 1 of the cluster, which nothing orders with "
                                 "st.shared.u32"),
            std::string::npos)
      << missing.message;
  EXPECT_NE(missing.message.find("put cluster.sync() between"), std::string::npos);
  EXPECT_NE(missing.other_ptx_line, 0u);
  EXPECT_EQ(missing.block.x, 0u);
  race_of(kFilled + kSync + "st.shared.u32 [%r3], %r5; bar.sync 0;" + kInFirst + kLoadThere +
          "NEXT:" + kEnd);
  const DeviceFinding later = race_of("st.shared.u32 [%r3], %r5;" + kSync + kInFirst + kLoadThere +
                                      "NEXT: @!%p1 st.shared.u32 [%r3], %r1;" + kEnd);
  EXPECT_EQ(later.count, 64u);
}
TEST(Clusters, AWriteAndABlocksOwnAccessWithoutABarrierRace) {
  race_of(kFilled + kSync + kStoreThere + "ld.shared.u32 %r7, [%r3];" + kEnd);
  race_of(kFilled + kStoreThere + kEnd);
  race_of(kFilled + kOther + "red.shared::cluster.add.u32 [%r8], %r5;" + kEnd);
}
TEST(Clusters, WritesOfTwoBlocksToAThirdRace) {
  const std::string both =
      "mov.u32 %r6, 2; " + kOther +
      "setp.lt.u32 %p1, %r2, 2; @%p1 st.shared::cluster.u32 [%r8], %r5; mov.u32 %r7, %r5;" + kEnd;
  const Outcome got = run(entry(both, "4, 1, 1"));
  ASSERT_EQ(got.findings.size(), 1u);
  EXPECT_EQ(name_of(got.findings[0].kind), "race_shared");
  EXPECT_NE(got.findings[0].message.find("of block 2 of the cluster"), std::string::npos);
  EXPECT_EQ(got.findings[0].block.x, 1u);
}
TEST(Clusters, RacesAreFoundByMachineCodeToo) {
  for (const MachineCode machine_code : {MachineCode::Never, MachineCode::Always}) {
    TestKernel kernel(entry(kFilled + kSync + kLoadThere + "st.shared.u32 [%r3], %r5;" + kEnd), 90,
                      1, machine_code);
    kernel.config().grid = {2, 1, 1};
    kernel.config().block = {64, 1, 1};
    kernel.arg(kernel.buffer(std::vector<uint32_t>(128), "out"));
    const LaunchReport report = kernel.run(false);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].count, 128u);
  }
}
TEST(Clusters, AccessesThatSomethingOrdersDoNotRace) {
  // The same value again, atomics among themselves, a block's own memory by way of the cluster.
  clean(entry(kFilled + kSync + kOther + "st.shared::cluster.u32 [%r8], %r9;" + kSync +
              "ld.shared.u32 %r7, [%r3];" + kEnd));
  clean(entry("mov.u32 %r9, 0; st.shared.u32 [%r3], %r9;" + kSync + kOther +
              "red.shared::cluster.add.u32 [%r8], %r5; red.shared.add.u32 [%r3], %r5; "
              "mov.u32 %r7, %r5;" +
              kEnd));
  clean(entry("mov.u32 %r6, %r2;" + kStoreThere + "bar.sync 0; ld.shared.u32 %r7, [%r3];" + kEnd));
  // A compare-and-swap begins with a plain read.
  clean(entry("mov.u32 %r9, 0; st.shared.u32 [%r3], %r9;" + kSync + kOther + R"(
    ld.shared::cluster.u32 %r10, [%r8]; add.u32 %r11, %r10, %r5;
    atom.shared::cluster.cas.b32 %r12, [%r8], %r10, %r11;
    ld.shared.u32 %r10, [%r3]; add.u32 %r11, %r10, %r5;
    atom.shared.cas.b32 %r12, [%r3], %r10, %r11; mov.u32 %r7, %r5;)" +
              kEnd));
  // A flag behind a fence, and an mbarrier.
  clean(entry(R"(
    .shared .b32 flag; mov.u32 %r9, 0; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [flag], %r9;)" +
              kSync + kStoreThere + R"( bar.sync 0; mov.u32 %r9, flag;
    mapa.shared::cluster.u32 %r10, %r9, %r6; fence.acq_rel.cluster; mov.u32 %r11, 1;
    @%p1 st.relaxed.cluster.shared::cluster.u32 [%r10], %r11;
    W: ld.acquire.cluster.shared.u32 %r12, [flag]; setp.eq.u32 %p2, %r12, 0; @%p2 bra W;
    ld.shared.u32 %r7, [%r3];)" +
              kEnd));
  clean(entry(R"(
    .shared .align 8 .b64 bar;
    setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bar], 64;
    fence.mbarrier_init.release.cluster;)" +
              kFill + kStoreThere + R"(
    mov.u32 %r9, bar; mapa.shared::cluster.u32 %r10, %r9, %r6;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
    W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;
    ld.shared.u32 %r7, [%r3];)" +
              kEnd));
}
TEST(Clusters, EndedThreadsCountAsArrived) {
  clean(entry("setp.eq.u32 %p1, %r2, 1; @%p1 ret;" + kSync));
}
TEST(Clusters, BlocksThatWaitForEverAreADeadlock) {
  const Outcome got = run(entry("setp.eq.u32 %p1, %r2, 1; @%p1 bar.sync 1, 128;" + kSync));
  ASSERT_GE(got.findings.size(), 1u);
  EXPECT_EQ(name_of(got.findings[0].kind), "deadlock");
}
TEST(Clusters, SignalMbarriersOfTheOtherBlock) {
  const auto got = clean(entry(R"(
    .shared .align 8 .b64 bar;
    setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bar], 64;
    fence.mbarrier_init.release.cluster;)" +
                               kFill + R"(
    mov.u32 %r9, bar; mapa.shared::cluster.u32 %r10, %r9, %r6;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
    W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;
    mov.u32 %r7, %r5;)" + kEnd));
  EXPECT_EQ(got[200], 200u);
}

/// %r8 and %r10: the thread's word and the mbarrier of the other block, which expects 256 bytes.
std::string with_mbarrier(const std::string& body) {
  return entry(R"(
    .shared .align 8 .b64 bar; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster; st.shared.u32 [%r3], 5;)" +
               kSync + R"(
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256; mov.u32 %r9, bar;
    mapa.shared::cluster.u32 %r8, %r3, %r6; mapa.shared::cluster.u32 %r10, %r9, %r6;)" +
               body);
}
const std::string kStoreAsync =
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r8], %r5, [%r10];\n";
const std::string kWait =
    "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;\n";

TEST(AsyncStores, ArriveInTheOtherBlockWithItsMbarrier) {
  const auto words = clean(with_mbarrier(kStoreAsync + kWait + "ld.shared.u32 %r7, [%r3];" + kEnd));
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(words[i], i ^ 64u) << i;
  const auto vectors = clean(with_mbarrier(R"(
    .reg .pred %first; and.b32 %r11, %r1, 3; setp.eq.u32 %first, %r11, 0; add.u32 %r12, %r5, 1000;
    @%first st.async.mbarrier::complete_tx::bytes.shared::cluster.v4.b32 [%r8],
      {%r5, %r12, %r5, 9}, [%r10];
    )" + kWait + "ld.shared.u32 %r7, [%r3];" +
                                           kEnd));
  EXPECT_EQ(vectors[4], 68u);
  EXPECT_EQ(vectors[5], 1068u);
  EXPECT_EQ(vectors[7], 9u);
}
TEST(AsyncStores, AreSaidNotToBeLookedAtForRaces) {
  const Outcome got = run(with_mbarrier(kStoreAsync + kWait + "ld.shared.u32 %r7, [%r3];" + kEnd));
  ASSERT_EQ(got.findings.size(), 1u);
  EXPECT_EQ(name_of(got.findings[0].kind), "unchecked_copies");
  EXPECT_TRUE(got.findings[0].message.ends_with("were not looked for in 'k'"))
      << got.findings[0].message;
}
TEST(AsyncStores, ReduceInTheOtherBlock) {
  const auto got = clean(with_mbarrier(R"(
    mov.u32 %r11, tile; mapa.shared::cluster.u32 %r11, %r11, %r6;
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32
      [%r11], %r1, [%r10];
    )" + kWait + "ld.shared.u32 %r7, [tile];" +
                                       kEnd));
  EXPECT_EQ(got[0], 5u + 63 * 64 / 2);
}
TEST(AsyncStores, MistakesAreFound) {
  const auto early =
      run(with_mbarrier(kStoreAsync + kSync + "ld.shared.u32 %r7, [%r3];" + kWait + kEnd));
  ASSERT_FALSE(early.findings.empty());
  EXPECT_EQ(name_of(early.findings[0].kind), "race_async");
  const auto elsewhere = run(with_mbarrier(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r8], %r5, [%r9];" + kSync));
  ASSERT_FALSE(elsewhere.findings.empty());
  EXPECT_EQ(name_of(elsewhere.findings[0].kind), "mbarrier");
}

TEST(Clusters, MulticastBringsBytesToEveryBlock) {
  const auto got = clean(entry(R"(
    .shared .align 16 .b32 copy[64]; .shared .align 8 .b64 bar;
    .reg .b16 %mask; st.global.u32 [%rd1], %r5; setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;)" +
                               kSync + R"(
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
    setp.eq.and.u32 %p2, %r2, 0, %p1; mov.u16 %mask, 3;
    @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
      [copy], [%rd1], 256, [bar], %mask;
    W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;
    mov.u32 %r8, copy; add.u32 %r8, %r8, %r4; ld.shared.u32 %r7, [%r8];)" +
                               kEnd));
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(got[i], (i & ~64u)) << i;
}
TEST(Clusters, MustDivideTheGridAndBeSmall) {
  const auto refused = [](const std::string& cluster, uint32_t blocks) {
    TestKernel kernel(entry("", cluster), 90);
    kernel.config().grid = {blocks, 1, 1};
    kernel.arg(uint64_t{0});
    const auto report = kernel.launch();
    return report ? std::string() : report.error().message;
  };
  EXPECT_NE(refused("2, 1, 1", 3).find("not a multiple"), std::string::npos);
  EXPECT_NE(refused("16, 1, 1", 16).find("at most 8"), std::string::npos);
}

TEST(Clusters, OfSixteenBlocksRunForAProgramThatAsksForThem) {
  TestKernel kernel(entry("xor.b32 %r6, %r2, 15;" + kFill +
                              "mapa.shared::cluster.u32 %r8, %r3, %r6; "
                              "ld.shared::cluster.u32 %r7, [%r8];" +
                              kEnd,
                          "16, 1, 1"),
                    90);
  constexpr uint32_t kBlocks = 32, kThreads = 64;
  kernel.config().grid = {kBlocks, 1, 1};
  kernel.config().block = {kThreads, 1, 1};
  kernel.config().allows_large_clusters = true;
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(kBlocks * kThreads), "out");
  EXPECT_TRUE(kernel.arg(out).run(false).findings.empty());
  const auto got = kernel.read<uint32_t>(out, kBlocks * kThreads);
  for (uint32_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i ^ 15 * kThreads) << i;
}

/// Every block counts itself and waits until all have.
TEST(Grids, AllBlocksGetOnWhenTheyWaitForEachOther) {
  const std::string text = with_header(R"(
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %envreg1; mov.u32 %r3, %envreg2; mov.b64 %rd1, {%r3, %r2};
  mov.u32 %r4, %nctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;
  atom.add.u32 %r5, [%rd1+4], 1;
SPIN: ld.volatile.u32 %r5, [%rd1+4]; setp.ne.u32 %p2, %r5, %r4; @%p2 bra SPIN;
MEET: bar.sync 0;
  ld.param.u64 %rd2, [out]; mov.u32 %r6, %ctaid.x; mad.lo.u32 %r6, %r6, 64, %r1;
  mul.wide.u32 %rd3, %r6, 4;
  add.u64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], %r6; ret; })");
  const auto got = clean(text, 1000);
  EXPECT_EQ(got[63999], 63999u);
}

}  // namespace
}  // namespace gpuemu::emulator
