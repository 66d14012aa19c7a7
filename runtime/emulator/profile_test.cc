// Compares counters with numbers computed by hand.
#include "runtime/profile/profile.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

constexpr const char* kDeclared =
    ".reg .pred %p; .reg .b16 %h; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;\n"
    ".shared .align 16 .b8 s[8192];\n"
    "mov.u32 %r1, %tid.x; ld.param.u64 %d1, [p];\n";

class ProfiledKernel {
 public:
  explicit ProfiledKernel(const std::string& body, uint32_t threads = 32)
      : kernel_(with_header(".func f() {\nret;\n}\n.visible .entry k(.param .u64 p) {\n" +
                            std::string(kDeclared) + body + "\nret;\n}\n")) {
    kernel_.config().block = {threads, 1, 1};
    kernel_.config().profile = true;
    kernel_.config().sanitize = {DeviceCheck::Memory};
    kernel_.arg(kernel_.buffer(std::vector<uint32_t>(16384, 1)));
  }
  LaunchConfig& config() { return kernel_.config(); }
  LaunchReport run() { return kernel_.run(); }

 private:
  TestKernel kernel_;
};

Profile profile(const std::string& body, uint32_t threads = 32) {
  ProfiledKernel kernel(body, threads);
  const LaunchReport report = kernel.run();
  if (report.profile != nullptr) return *report.profile;
  ADD_FAILURE() << "no profile";
  return {std::make_shared<ProfilePlaces>(), {}};
}

/// Counts of the first instruction that is spelled so.
InstructionCount count_of(const Profile& of, const std::string& spelling) {
  for (size_t i = 0; i < of.counts.instructions.size(); ++i) {
    if (of.places->instructions[i].text == spelling) return of.counts.instructions[i];
  }
  ADD_FAILURE() << "no " << spelling;
  return {};
}

/// One access per lane, `step` bytes apart.
MemoryCount global(const std::string& access, uint32_t step) {
  return count_of(profile("mad.wide.u32 %d2, %r1, " + std::to_string(step) + ", %d1;\n" + access),
                  access.substr(0, access.find(' ')))
      .memory;
}
MemoryCount shared(const std::string& access, uint32_t step) {
  return count_of(profile("mad.lo.u32 %r2, %r1, " + std::to_string(step) +
                          ", 0; mov.u32 %r3, s; "
                          "add.u32 %r2, %r2, %r3;\n" +
                          access),
                  access.substr(0, access.find(' ')))
      .memory;
}

TEST(Counters, ARowOfFloatsIsFourSectorsOfOneLine) {
  const MemoryCount count = global("ld.global.f32 %f1, [%d2];", 4);
  EXPECT_EQ(count.global_requests, 1u);
  EXPECT_EQ(count.global_bytes, 128u);
  EXPECT_EQ(count.sectors, 4u);
  EXPECT_EQ(count.lines, 1u);
  EXPECT_EQ(coalescing(count), 1);
}

TEST(Counters, AStrideOfALineTakesASectorPerLane) {
  const MemoryCount count = global("st.global.f32 [%d2], %f1;", 128);
  EXPECT_EQ(count.sectors, 32u);
  EXPECT_EQ(count.lines, 32u);
  EXPECT_EQ(coalescing(count), 0.125);
}

TEST(Counters, AStrideOfTwoFloatsUsesHalfOfItsSectors) {
  const MemoryCount count = global("ld.global.f32 %f1, [%d2];", 8);
  EXPECT_EQ(count.sectors, 8u);
  EXPECT_EQ(count.lines, 2u);
  EXPECT_EQ(coalescing(count), 0.5);
}

TEST(Counters, ABroadcastIsOneSector) {
  EXPECT_EQ(global("ld.global.f32 %f1, [%d2];", 0).sectors, 1u);
}

TEST(Counters, AVectorOfFourFloatsCountsAllItsBytes) {
  const MemoryCount count = global("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d2];", 16);
  EXPECT_EQ(count.global_bytes, 512u);
  EXPECT_EQ(count.sectors, 16u);
  EXPECT_EQ(count.lines, 4u);
}

TEST(Counters, AnUnalignedOffsetAddsASector) {
  const MemoryCount count = global("ld.global.u32 %r2, [%d2+16];", 4);
  EXPECT_EQ(count.sectors, 5u);
  EXPECT_EQ(count.lines, 2u);
}

TEST(Counters, AtomicsAreRequestsToo) {
  EXPECT_EQ(global("atom.global.add.u32 %r2, [%d2], 1;", 4).sectors, 4u);
}

TEST(Counters, LanesSideBySideHaveNoBankConflict) {
  const MemoryCount count = shared("st.shared.f32 [%r2], %f1;", 4);
  EXPECT_EQ(count.shared_requests, 1u);
  EXPECT_EQ(count.wavefronts, 1u);
  EXPECT_EQ(count.bank_conflicts, 0u);
}

TEST(Counters, AStrideOfTwoWordsConflictsTwoWays) {
  EXPECT_EQ(shared("st.shared.f32 [%r2], %f1;", 8).wavefronts, 2u);
}

TEST(Counters, AStrideOf32WordsConflicts32Ways) {
  const MemoryCount count = shared("ld.shared.f32 %f1, [%r2];", 128);
  EXPECT_EQ(count.wavefronts, 32u);
  EXPECT_EQ(count.bank_conflicts, 31u);
}

TEST(Counters, AStrideOf33WordsConflictsNotAtAll) {
  EXPECT_EQ(shared("ld.shared.f32 %f1, [%r2];", 132).bank_conflicts, 0u);
}

TEST(Counters, AWordThatAllLanesReadIsOnePass) {
  EXPECT_EQ(shared("ld.shared.f32 %f1, [%r2];", 0).wavefronts, 1u);
}

const std::string kFragment = "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}";
MemoryCount fragment(const std::string& access, const std::string& operands) {
  return count_of(profile(access + " " + operands + ";"), access).memory;
}
TEST(Counters, AFragmentMovesInPiecesOf16Bytes) {
  const std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.";
  const MemoryCount dense = fragment(load + "global.f16", kFragment + ", [%d1], 16");
  EXPECT_EQ(dense.global_requests, 1u);
  EXPECT_EQ(dense.global_bytes, 512u);
  EXPECT_EQ(dense.sectors, 16u);
  EXPECT_EQ(dense.lines, 4u);
  const MemoryCount rows = fragment(load + "global.f16", kFragment + ", [%d1], 64");
  EXPECT_EQ(rows.sectors, 16u);
  EXPECT_EQ(rows.lines, 16u);
  const MemoryCount near = fragment(load + "shared.f16", kFragment + ", [s], 16");
  EXPECT_EQ(near.shared_requests, 1u);
  EXPECT_EQ(near.wavefronts, 4u);
  EXPECT_EQ(near.bank_conflicts, 0u);
  // Rows a line apart: the four of a pass begin at the same bank.
  const MemoryCount far = fragment(load + "shared.f16", kFragment + ", [s], 64");
  EXPECT_EQ(far.wavefronts, 16u);
  EXPECT_EQ(far.bank_conflicts, 12u);
  const MemoryCount sums = fragment("wmma.store.d.sync.aligned.row.m16n16k16.global.f32",
                                    "[%d1], " + kFragment + ", 16");
  EXPECT_EQ(sums.global_requests, 2u);
  EXPECT_EQ(sums.global_bytes, 1024u);
}
TEST(Counters, ABulkCopyIsOneRequestAtEachEnd) {
  const std::string copy = "cp.async.bulk.global.shared::cta.bulk_group";
  const MemoryCount count =
      count_of(profile("setp.eq.u32 %p, %r1, 0; @%p " + copy +
                       " [%d1], [s], 512; @%p cp.async.bulk.commit_group; @%p "
                       "cp.async.bulk.wait_group 0;"),
               copy)
          .memory;
  EXPECT_EQ(count.global_requests, 1u);
  EXPECT_EQ(count.global_bytes, 512u);
  EXPECT_EQ(count.sectors, 16u);
  EXPECT_EQ(count.lines, 4u);
  EXPECT_EQ(count.shared_requests, 1u);
  EXPECT_EQ(count.wavefronts, 4u);
}
TEST(Counters, AnAsynchronousCopyCountsAtBothEnds) {
  const MemoryCount count =
      count_of(
          profile("mad.wide.u32 %d2, %r1, 4, %d1; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 "
                  "%r3, %r3, %r2; cp.async.ca.shared.global [%r3], [%d2], 4; "
                  "cp.async.wait_all;"),
          "cp.async.ca.shared.global")
          .memory;
  EXPECT_EQ(count.sectors, 4u);
  EXPECT_EQ(count.wavefronts, 1u);
}

TEST(Counters, WideAccessesComeInPartsOfTheWarp) {
  const MemoryCount two = shared("ld.shared.u64 %d3, [%r2];", 8);
  EXPECT_EQ(two.wavefronts, 2u);
  EXPECT_EQ(two.bank_conflicts, 0u);
  const MemoryCount four = shared("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r2];", 16);
  EXPECT_EQ(four.wavefronts, 4u);
  EXPECT_EQ(four.bank_conflicts, 0u);
}

TEST(Counters, GenericAddressesCountForTheirSpace) {
  const Profile of = profile(
      "mov.u64 %d2, s; cvta.shared.u64 %d2, %d2; "
      "setp.lt.u32 %p, %r1, 8; selp.b64 %d3, %d1, %d2, %p;\n"
      "st.u32 [%d3], %r1;");
  const MemoryCount count = count_of(of, "st.u32").memory;
  EXPECT_EQ(count.global_bytes, 32u);
  EXPECT_EQ(count.sectors, 1u);
  EXPECT_EQ(count.shared_requests, 1u);
}

constexpr const char* kBranch =
    "setp.lt.u32 %p, %r1, 8;\n@%p bra THEN;\nadd.u32 %r2, %r1, 1;\nbra JOIN;\n"
    "THEN: sub.u32 %r2, %r1, 1;\nJOIN: xor.b32 %r3, %r2, 1;\n";

TEST(Counters, ABranchThatPartsAWarpIsDivergent) {
  const Profile of = profile(std::string(kBranch) + "bar.sync 0;");
  EXPECT_EQ(count_of(of, "bra").divergent, 1u);
  EXPECT_EQ(count_of(of, "bra").threads, 8u);
  EXPECT_EQ(count_of(of, "add.u32").threads, 24u);
  EXPECT_EQ(count_of(of, "sub.u32").threads, 8u);
  EXPECT_EQ(count_of(of, "xor.b32").warps, 1u);
  EXPECT_EQ(lanes_active(count_of(of, "sub.u32")), 0.25);
}

TEST(Counters, ABranchThatWholeWarpsTakeIsNotDivergent) {
  const Profile of =
      profile("setp.lt.u32 %p, %r1, 32;\n@%p bra THEN;\nadd.u32 %r2, %r1, 1;\nTHEN:", 64);
  EXPECT_EQ(count_of(of, "bra").divergent, 0u);
  EXPECT_EQ(count_of(of, "bra").warps, 1u);
  EXPECT_EQ(count_of(of, "add.u32").warps, 1u);
}

TEST(Counters, BlocksAndEdgesFollowTheFlow) {
  const Profile of = profile(kBranch);
  // f; the start, else, then, join.
  ASSERT_EQ(of.counts.blocks.size(), 5u);
  const uint64_t threads[] = {0, 32, 24, 8, 32};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(of.counts.blocks[i].threads, threads[i]) << i;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges;
  for (size_t i = 0; i < of.counts.edges.size(); ++i) {
    edges[{of.places->edges[i].from, of.places->edges[i].to}] = of.counts.edges[i].threads;
  }
  const std::map<std::pair<uint32_t, uint32_t>, uint64_t> expected = {
      {{1, 3}, 8}, {{1, 2}, 24}, {{2, 4}, 24}, {{3, 4}, 8}};
  EXPECT_EQ(edges, expected);
}

TEST(Counters, LoopsCountTheirTurnsPerThread) {
  // Lane i turns i + 1 times.
  const Profile of = profile(
      "mov.u32 %r2, 0;\nLOOP: add.u32 %r2, %r2, 1;\n"
      "setp.le.u32 %p, %r2, %r1;\n@%p bra LOOP;\n");
  EXPECT_EQ(count_of(of, "add.u32").threads, 32u * 33 / 2);
  EXPECT_EQ(count_of(of, "add.u32").warps, 32u);
  EXPECT_EQ(count_of(of, "bra").divergent, 31u);
}

TEST(Counters, GuardedInstructionsCountTheirThreadsAlone) {
  const Profile of =
      profile("setp.eq.u32 %p, %r1, 3;\n@%p add.u32 %r2, %r1, 1;\n@!%p sub.u32 %r2, %r1, 1;\n");
  EXPECT_EQ(count_of(of, "add.u32").threads, 1u);
  EXPECT_EQ(count_of(of, "sub.u32").threads, 31u);
}

TEST(Counters, IndexedBranchesCountEachTarget) {
  const Profile of = profile(
      "rem.u32 %r2, %r1, 4; min.u32 %r2, %r2, 2;\nT: .branchtargets A, B, C;\n"
      "brx.idx %r2, T;\nA: add.u32 %r3, %r1, 1;\nB: sub.u32 %r3, %r1, 1;\nC: xor.b32 %r3, %r1, "
      "1;\n");
  EXPECT_EQ(count_of(of, "add.u32").threads, 8u);
  EXPECT_EQ(count_of(of, "sub.u32").threads, 16u);
  EXPECT_EQ(count_of(of, "xor.b32").threads, 32u);
  uint64_t leaving = 0;
  for (size_t i = 0; i < of.counts.edges.size(); ++i) {
    if (of.places->edges[i].from == 1) leaving += of.counts.edges[i].threads;
  }
  EXPECT_EQ(leaving, 32u);
}

TEST(Counters, CalledFunctionsCount) {
  const Profile of = profile("call f;\ncall f;");
  EXPECT_EQ(of.places->functions[0], "f");
  EXPECT_EQ(of.counts.instructions[0].threads, 64u);
  EXPECT_EQ(of.counts.blocks[0].warps, 2u);
}

TEST(Counters, AddUpToTheInstructionsOfTheReport) {
  ProfiledKernel kernel(
      std::string(kBranch) + "@%p bra OUT;\ncall f;\nOUT: mov.b64 %d3, {%r1, %r2};", 40);
  kernel.config().grid = {7, 1, 1};
  const LaunchReport counted = kernel.run();
  kernel.config().profile = false;
  const LaunchReport plain = kernel.run();
  uint64_t threads = 0;
  for (const InstructionCount& count : counted.profile->counts.instructions) {
    threads += count.threads;
  }
  EXPECT_EQ(threads, counted.thread_instructions);
  EXPECT_EQ(threads, plain.thread_instructions);
  EXPECT_EQ(plain.profile, nullptr);
}

TEST(Counters, AreTheSameInEveryRun) {
  ProfiledKernel kernel(kBranch, 96);
  kernel.config().grid = {50, 1, 1};
  const auto first = kernel.run().profile, second = kernel.run().profile;
  EXPECT_EQ(first->places, second->places);
  for (size_t i = 0; i < first->counts.instructions.size(); ++i) {
    EXPECT_EQ(first->counts.instructions[i].threads, second->counts.instructions[i].threads);
  }
  EXPECT_EQ(first->counts.blocks[1].warps, 150u);
}

TEST(Counters, IdsOfEdgesDoNotDependOnTheModuleAroundThem) {
  const Profile a = profile(kBranch), b = profile(std::string(kBranch) + "bar.sync 0;");
  EXPECT_EQ(a.places->edges.back().id, b.places->edges.back().id);
}

}  // namespace
}  // namespace gpuemu::emulator
