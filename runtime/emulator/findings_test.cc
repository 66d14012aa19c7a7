// Tests the findings for faulty kernels.
#include "runtime/emulator/report/element_names.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

std::string entry(const std::string& body) {
  return with_header(
      ".file 1 \"bad.cu\"\n.visible .entry k(.param .u64 p) {\n .reg .b32 %r<9>; .reg .b64 %rd<9>; "
      ".reg .pred %p<5>; "
      ".reg .f32 %f<5>;\n .shared .align 16 .b8 tile[1024];\n .loc 1 42 3\n ld.param.u64 %rd1, "
      "[p];\n"
      " mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, tile; add.u32 %r3, %r3, %r2;\n" +
      body + "\nret;\n}\n");
}
constexpr uint64_t kPatience = 60'000;  // A busy machine may run a test ten times slower.
DeviceFinding first_of(const std::string& body, uint32_t threads = 64,
                       uint64_t timeout_ms = kPatience) {
  TestKernel kernel(entry(body));
  kernel.config().block = {threads, 1, 1};
  kernel.config().timeout_ms = timeout_ms;
  kernel.arg(kernel.buffer(std::vector<uint32_t>(64), "data"));
  const LaunchReport report = kernel.run(false);
  if (report.findings.size() != 1) ADD_FAILURE() << report.findings.size() << " findings";
  for (const DeviceFinding& finding : report.findings) SCOPED_TRACE(finding.message);
  return report.findings.empty() ? DeviceFinding{} : report.findings[0];
}

/// Eight threads of the host lose their processor now and then between the note of a store and the
/// store.
TEST(Findings, BlocksThatSetOneFlagAtOnceAreNoRace) {
  for (const uint32_t threads : {2u, 8u}) {
    TestKernel kernel(entry("mov.u32 %r4, 1; st.global.u32 [%rd1], %r4;"), 80, threads);
    kernel.config().grid = {64 * threads, 1, 1};
    const uint64_t flag = kernel.buffer(std::vector<uint32_t>(64, 0), "flag");
    kernel.arg(flag);
    for (int run = 0; run < 40; ++run) {
      ASSERT_TRUE(kernel.device().fill(flag, std::byte{0}, 4).ok());
      const LaunchReport report = kernel.run(false);
      ASSERT_TRUE(report.findings.empty()) << report.findings[0].message;
    }
  }
}

TEST(Findings, NameTheOtherBlockOfARaceByItsIndex) {
  TestKernel kernel(entry("mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mad.lo.u32 %r4, %r5, 3, "
                          "%r4; setp.lt.u32 %p1, %r4, 4; @%p1 ret; st.global.u32 [%rd1], %r4;"),
                    80, 1);
  kernel.config().grid = {3, 2, 1};
  kernel.config().block = {1, 1, 1};
  kernel.arg(kernel.buffer(std::vector<uint32_t>(64), "data"));
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_NE(report.findings[0].message.find("which block (1,1,0) writes"), std::string::npos)
      << report.findings[0].message;
}

TEST(Findings, WhatTheHostForgetsCountsAsUnwrittenAgain) {
  TestKernel kernel(entry("ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd1+4], %r6;"));
  kernel.config().block = {1, 1, 1};
  const uint64_t data = kernel.buffer(std::vector<uint32_t>(64, 7), "data");
  kernel.arg(data);
  EXPECT_TRUE(kernel.run(false).findings.empty());
  ASSERT_TRUE(kernel.device().forget(data, 256));
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "uninitialized");
  ASSERT_TRUE(kernel.device().upload(data, std::as_bytes(std::span("wxyz", 4))));
  EXPECT_TRUE(kernel.run(false).findings.empty());
  EXPECT_EQ(kernel.device().forget(data + 1, 256).error().code, ErrorCode::InvalidArgument);
}

TEST(Findings, WritesOfAnElementThatWasWrittenAreFoundWhereAsked) {
  const std::string rows = "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; ";
  const std::string once = rows + "st.global.u32 [%rd1], %r1;";
  const auto found = [&](const std::string& body, uint64_t bytes) {
    TestKernel kernel(entry(body));
    kernel.config().block = {32, 1, 1};
    kernel.config().sanitize = {DeviceCheck::Memory, DeviceCheck::Writes};
    const uint64_t data = kernel.buffer(std::vector<uint32_t>(64, 7), "data");
    EXPECT_TRUE(kernel.device().forget(data, bytes));
    return kernel.arg(data).run(false).findings;
  };
  EXPECT_TRUE(found(once, 256).empty());
  const auto twice = found(once + " .loc 1 43 1\n st.global.u32 [%rd1], %r2;", 256);
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(name_of(twice[0].kind), "written_twice");
  EXPECT_EQ(twice[0].line, 43u);
  EXPECT_EQ(twice[0].count, 32u);
  EXPECT_EQ(found("st.global.u32 [%rd1], %r2;", 256).size(), 1u) << "all lanes write one element";
  EXPECT_EQ(
      found(rows + "atom.global.add.u32 %r6, [%rd1], 1; red.global.add.u32 [%rd1], 1;", 256).size(),
      1u);
  ASSERT_EQ(found(once, 64).size(), 1u) << "half of it was there";
  EXPECT_EQ(found(once, 64)[0].count, 16u);
}

TEST(Findings, RaceBetweenWarpsWithoutABarrier) {
  TestKernel kernel(
      entry("mov.u32 %r6, 0; st.shared.u32 [%r3], %r6; bar.sync 0;\n"
            "st.shared.u32 [%r3], %r1; xor.b32 %r4, %r2, 128; mov.u32 %r5, tile;\n"
            "add.u32 %r5, %r5, %r4; ld.shared.u32 %r6, [%r5];"));
  kernel.config().block = {64, 1, 1};
  const LaunchReport report = kernel.arg(uint64_t{0}).run(false);
  ASSERT_EQ(report.findings.size(), 2u);  // The store of one warp, the load of the other.
  for (const DeviceFinding& finding : report.findings) {
    EXPECT_EQ(name_of(finding.kind), "race_shared");
    EXPECT_EQ(finding.count, 32u);
    EXPECT_EQ(finding.line, 42u);
  }
}
TEST(Findings, InstructionsThatACompilerMadeOfOneLineAreOneFinding) {
  const DeviceFinding finding =
      first_of("ld.global.u32 %r6, [%rd1+256];\n ld.global.u32 %r7, [%rd1+260];", 32);
  EXPECT_EQ(name_of(finding.kind), "out_of_bounds");
  EXPECT_EQ(finding.byte_offset, 256);
  EXPECT_EQ(finding.count, 64u);
}
TEST(Findings, DifferentInstructionsOfOneLineAreTwo) {
  TestKernel kernel(entry("ld.global.u32 %r6, [%rd1+256];\n st.global.u32 [%rd1+260], %r6;"));
  kernel.arg(kernel.buffer(std::vector<uint32_t>(64), "data"));
  EXPECT_EQ(kernel.run(false).findings.size(), 2u);
}
TEST(Findings, AtomicsOfAnotherWarpRaceWithAPlainReadOfOneThatUpdatesToo) {
  const std::string update =
      "mov.u32 %r5, tile; setp.eq.u32 %p1, %r1, 0; mov.u32 %r6, 0; @%p1 st.shared.u32 [%r5], %r6; "
      "bar.sync 0; atom.shared.add.u32 %r7, [%r5], 1; ";
  EXPECT_EQ(name_of(first_of(update + "bar.warp.sync 0xffffffff; ld.shared.u32 %r8, [%r5];").kind),
            "race_shared");
  TestKernel ordered(entry(update + "bar.sync 0; ld.shared.u32 %r8, [%r5];"));
  ordered.config().block = {64, 1, 1};
  ordered.arg(uint64_t{0}).run();
}
TEST(Findings, RaceOfTwoWritersWithDifferentValuesOnly) {
  const std::string store =
      "shr.u32 %r6, %r1, 5; mov.u32 %r5, tile; .loc 1 43 1\n st.shared.u32 [%r5], %r6;";
  const DeviceFinding finding = first_of(store);
  EXPECT_EQ(name_of(finding.kind), "race_shared");
  EXPECT_EQ(finding.other_line, 43u);
  EXPECT_NE(finding.message.find("('tile'[0])"), std::string::npos) << finding.message;
  TestKernel benign(entry("mov.u32 %r5, tile; mov.u32 %r6, 7; st.shared.u32 [%r5], %r6;"));
  benign.config().block = {64, 1, 1};
  benign.arg(uint64_t{0}).run();
}
TEST(Findings, LanesOfOneStoreThatWriteDifferentValuesToOnePlace) {
  const DeviceFinding finding = first_of("mov.u32 %r5, tile; st.shared.u32 [%r5+8], %r1;", 32);
  EXPECT_EQ(name_of(finding.kind), "race_warp");
  EXPECT_NE(finding.message.find("writes 0x1 to shared memory offset 8 ('tile'[2])"),
            std::string::npos)
      << finding.message;
}
TEST(Findings, LanesThatReadAnothersStoreNeedAWarpBarrier) {
  const std::string write = ".loc 1 50 1\n st.shared.u32 [%r3], %r1;\n";
  const std::string read =
      ".loc 1 51 1\n xor.b32 %r4, %r2, 4; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4; "
      "ld.shared.u32 %r6, [%r5];";
  const DeviceFinding finding = first_of(write + read, 32);
  EXPECT_EQ(name_of(finding.kind), "race_warp");
  EXPECT_EQ(finding.line, 51u);
  EXPECT_EQ(finding.other_line, 50u);
  EXPECT_EQ(finding.count, 32u);
  for (const char* between : {"bar.warp.sync 0xffffffff;", "bar.sync 0;"}) {
    TestKernel ordered(entry(write + between + read));
    ordered.arg(uint64_t{0}).run();
  }
}
TEST(Findings, BroadcastOfOneLanesStoreNeedsAWarpBarrier) {
  const std::string write =
      "mov.u32 %r5, tile; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r5], %r1;\n";
  const std::string read = "ld.shared.u32 %r6, [%r5];";
  const DeviceFinding finding = first_of(write + read, 32);
  EXPECT_EQ(name_of(finding.kind), "race_warp");
  EXPECT_EQ(finding.count, 31u);
  TestKernel ordered(entry(write + "bar.warp.sync 0xffffffff;" + read));
  ordered.arg(uint64_t{0}).run();
}
TEST(Findings, RacesInPartsOfAWord) {
  const std::string store =
      "shr.u32 %r6, %r1, 5; mov.u32 %r5, tile; add.u32 %r5, %r5, %r6; st.shared.u8 [%r5], %r6;";
  TestKernel apart(entry(store));  // Each warp has its own byte.
  apart.config().block = {64, 1, 1};
  apart.arg(uint64_t{0}).run();
  EXPECT_EQ(
      name_of(first_of("shr.u32 %r6, %r1, 5; mov.u32 %r5, tile; st.shared.u8 [%r5], %r6;").kind),
      "race_shared");
}
TEST(Findings, NoneForReadersOfWhatTheirOwnWarpWroteAlike) {
  // Every warp writes the same word, as replicated layouts do, and reads it after a warp barrier.
  TestKernel kernel(
      entry("mov.u32 %r5, tile; mov.u32 %r6, 7; st.shared.u32 [%r5], %r6; bar.warp.sync "
            "0xffffffff; ld.shared.u32 %r7, [%r5];"));
  kernel.config().block = {96, 1, 1};
  kernel.arg(uint64_t{0}).run();
}
/// Returns the location that a finding names for code of `header` inlined at line 42 of bad.cu.
DeviceFinding inlined_from(const std::string& header) {
  return first_of(".file 2 \"" + header +
                  "\"\n.loc 2 7 3, function_name $L__s0, inlined_at 1 42 3\n ld.shared.u32 %r6, "
                  "[%r3+1024];");
}
TEST(Findings, NamesTheLineOfAPersonForInlinedCodeOfAToolkit) {
  for (const char* header :
       {"/usr/local/cuda/include/cub/x.cuh", "/p/build/cuda/nvidia/cu13/include/cuda_fp16.hpp",
        "build/cuda/nvidia/cu13/include/cooperative_groups.h",
        "/p/build/cuda/nvidia/cu13/bin/../targets/x86_64-linux/include/cuda_fp16.hpp",
        "/p/.venv/lib/python3.11/site-packages/nvidia/cu13/include/cuda/pipeline",
        "/p/wheels/nvidia/cuda_runtime/include/cuda_pipeline_helpers.h",
        "/opt/cuda-13/include/cuda_fp16.hpp", "/opt/cuda-13/include/crt/mma.hpp",
        "/opt/cuda-13/include/sm_32_intrinsics.hpp"}) {
    const DeviceFinding finding = inlined_from(header);
    EXPECT_EQ(finding.file, "bad.cu") << header;
    EXPECT_EQ(finding.line, 42u) << header;
  }
}
TEST(Findings, NamesTheLineInAHeaderOfTheProject) {
  for (const char* header :
       {"include/cuda_helpers.h", "/p/include/row.cuh", "/p/nvidia/kernels/row.cuh",
        "/p/build/cuda/row.cuh", "src/cuda_fp16_rows.cuh", "include/sm_80_rows.cuh"}) {
    const DeviceFinding finding = inlined_from(header);
    EXPECT_EQ(finding.file, header);
    EXPECT_EQ(finding.line, 7u) << header;
  }
}
TEST(Findings, NameVariablesOfFunctionsWithoutTheFunction) {
  EXPECT_EQ(short_name("_ZZ1kPfE4tile"), "tile");
  EXPECT_EQ(short_name("_ZZ1kPfE4tile_0"), "tile");
  EXPECT_EQ(short_name("_ZN2ns6a4tileE"), "a4tile");
  EXPECT_EQ(short_name("_ZZ4rowsILi96EEvPK14__nv_bfloat162S2_PS0_ifE4part"), "part");
}
TEST(Findings, UninitialisedSharedMemory) {
  const DeviceFinding finding = first_of(
      "ld.shared.u32 %r6, [%r3]; cvta.to.global.u64 %rd2, %rd1; cvt.u64.u32 %rd3, %r2; "
      "add.s64 %rd2, %rd2, %rd3; .loc 1 43 1\n st.global.u32 [%rd2], %r6;");
  EXPECT_EQ(name_of(finding.kind), "uninitialized");
  EXPECT_EQ(finding.other_line, 43u);
  EXPECT_EQ(finding.count, 64u);
  EXPECT_EQ(finding.line, 42u);
  EXPECT_EQ(finding.file, "bad.cu");
}
/// Block 0 comes last to what block 1 does at once.
TEST(Findings, NamesTheFirstBlockOfTheGridWhicheverIsFaster) {
  const std::string body =
      "cvta.to.global.u64 %rd2, %rd1; mov.u32 %r5, %ctaid.x; setp.ne.u32 %p1, %r5, 0; @%p1 bra B;\n"
      "mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 100000; @%p2 bra L;\n"
      "A: .loc 1 43 1\n ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd2], %r6; bra DONE;\n"
      "B: .loc 1 44 1\n ld.shared.u32 %r6, [%r3+512]; st.global.u32 [%rd2+4], %r6; bra A; DONE:";
  TestKernel kernel(entry(body), 80, 2);
  kernel.config().grid = {2, 1, 1};
  kernel.config().block = {1, 1, 1};
  kernel.config().timeout_ms = kPatience;
  kernel.arg(kernel.buffer(std::vector<uint32_t>(64), "data"));
  for (int run = 0; run < 20; ++run) {
    std::vector<DeviceFinding> found = kernel.run(false).findings;
    std::erase_if(found, [](const DeviceFinding& one) { return one.line == 0; });
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].line, 43u);
    EXPECT_EQ(found[0].block.x, 0u);
    EXPECT_EQ(found[0].count, 2u);
    EXPECT_EQ(found[1].line, 44u);
    EXPECT_EQ(found[1].block.x, 1u);
  }
}
TEST(Findings, SharedMemoryEnds) {
  EXPECT_EQ(name_of(first_of("st.shared.u32 [%r3+1000], %r1;").kind), "out_of_bounds");
}
TEST(Findings, MisalignedStore) {
  const DeviceFinding finding = first_of("st.global.u32 [%rd1+2], %r1;", 1);
  EXPECT_EQ(name_of(finding.kind), "misaligned");
  EXPECT_EQ(finding.byte_offset, 2);
}
TEST(Findings, AddressOfNothing) {
  EXPECT_EQ(name_of(first_of("mov.u64 %rd2, 16; st.global.u32 [%rd2], %r1;", 1).kind),
            "out_of_bounds");
}
TEST(Findings, BarrierThatHalfAWarpReaches) {
  EXPECT_EQ(
      name_of(first_of("setp.lt.u32 %p1, %r1, 16; @%p1 bra A; bar.sync 1; ret; A: bar.sync 0;", 32)
                  .kind),
      "barrier_divergence");
}
TEST(Findings, BarrierDoesNotWaitForThreadsThatHaveExited) {
  for (const uint32_t threads : {32u, 64u}) {
    TestKernel kernel(entry("setp.lt.u32 %p1, %r1, 16; @%p1 bra A; ret; A: bar.sync 0;"));
    kernel.config().block = {threads, 1, 1};
    kernel.arg(uint64_t{0}).run();
  }
}
TEST(Findings, BarrierForMoreThreadsThanCome) {
  const DeviceFinding finding =
      first_of("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; ret; A: bar.sync 1, 64;");
  EXPECT_EQ(name_of(finding.kind), "deadlock");
  EXPECT_NE(finding.message.find("warp 0 (lanes 0xffffffff) is at bar.sync 1, 64 at bad.cu:42"),
            std::string::npos)
      << finding.message;
}
TEST(Findings, WarpsThatSpinForEverAreNamedWithTheirLines) {
  const DeviceFinding finding =
      first_of("A: ld.volatile.global.u32 %r6, [%rd1]; setp.ne.u32 %p1, %r6, 1; @%p1 bra A;");
  EXPECT_EQ(name_of(finding.kind), "deadlock");
  EXPECT_NE(finding.message.find("; warps 0 to 1 (lanes 0xffffffff) are at "), std::string::npos)
      << finding.message;
}
TEST(Findings, EndlessLoopStops) { EXPECT_EQ(name_of(first_of("A: bra A;", 64).kind), "deadlock"); }
TEST(Findings, Trap) { EXPECT_EQ(name_of(first_of("trap;").kind), "trap"); }
TEST(Findings, ShuffleWithoutLanesThatItsMaskNames) {
  EXPECT_EQ(
      name_of(first_of("setp.lt.u32 %p1, %r1, 16; @!%p1 bra A; shfl.sync.bfly.b32 %r5, %r1, 1, 31, "
                       "0xffffffff; A: bar.warp.sync 0xffffffff;",
                       32)
                  .kind),
      "illegal_mask");
}
TEST(Findings, NoneForLanesWithMasksOfTheirOwn) {
  TestKernel kernel(
      entry("setp.lt.u32 %p1, %r1, 16; selp.b32 %r4, 0x0000ffff, 0xffff0000, %p1; "
            "shfl.sync.bfly.b32 %r5, "
            "%r1, 1, 31, %r4; vote.sync.ballot.b32 %r6, %p1, %r4;"));
  kernel.arg(uint64_t{0}).run();
}
TEST(Findings, NoneForPaddingAndForFlagsBehindFences) {
  TestKernel padding(entry(
      "shl.b32 %r2, %r1, 4; mov.u32 %r3, tile; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1; "
      "bar.sync 0; ld.shared.v2.u32 {%r4, %r5}, [%r3];"));
  padding.arg(uint64_t{0}).run();
  TestKernel flag(entry(R"(
    setp.lt.u32 %p1, %r1, 32; mov.u32 %r3, tile; mov.u32 %r6, 0;
    @%p1 st.volatile.shared.u32 [%r3], %r6; bar.sync 0;
    @%p1 bra MAKE;
    TAKE: ld.volatile.shared.u32 %r5, [%r3]; setp.eq.u32 %p2, %r5, 0; @%p2 bra TAKE;
    ld.shared.u32 %r6, [%r3+4]; bra DONE;
    MAKE: st.shared.u32 [%r3+4], %r6; membar.cta; mov.u32 %r5, 1; st.volatile.shared.u32 [%r3], %r5;
    DONE:)"));
  flag.config().block = {64, 1, 1};
  flag.arg(uint64_t{0}).run();
}
TEST(Findings, UnknownInstructionsOnlyWhenExecuted) {
  const DeviceFinding finding = first_of("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16;");
  EXPECT_EQ(name_of(finding.kind), "unsupported_instruction");
  EXPECT_NE(finding.message.find("wgmma.mma_async.sp"), std::string::npos);
  EXPECT_EQ(name_of(first_of("st.async.shared::cluster.u32 [%r3], %r1, [%r3];").kind),
            "unsupported_instruction");
  TestKernel unreached(entry("bra A; wgmma.fence.sync.aligned; A:"));
  unreached.arg(uint64_t{0}).run();
}

TEST(Findings, DynamicSharedMemoryWithoutBytesIsSaidToHaveNone) {
  const std::string ptx = with_header(R"(
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<3>;
  mov.u32 %r1, dynamic; mov.u32 %r2, 5;
  st.shared.u32 [%r1], %r2;
  ret;
})");
  const auto message = [&](uint32_t bytes) {
    TestKernel kernel(ptx);
    kernel.config().dynamic_shared_bytes = bytes;
    const LaunchReport report = kernel.arg(uint64_t{0}).run(false);
    return report.findings.empty() ? std::string() : report.findings[0].message;
  };
  EXPECT_NE(message(0).find("(extern __shared__) no bytes; set its `shared`"), std::string::npos)
      << message(0);
  EXPECT_EQ(message(2).find("extern"), std::string::npos) << message(2);
  EXPECT_FALSE(message(2).empty());
}

}  // namespace
}  // namespace gpuemu::emulator
