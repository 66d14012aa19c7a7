// Tests undefined values from their origin to where they matter.
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// Kinds of the findings of `body` in one block of 32 threads, where %r1 is the thread, %r9 a word
/// of shared memory that nothing wrote and %p1 whether it is above 5. Stores %r2 and %rd2.
std::string kinds_of(const std::string& body) {
  TestKernel kernel(
      with_header(".visible .entry k(.param .u64 p) {\n .reg .b16 %rs<9>; .reg .b32 %r<10>; .reg "
                  ".b64 %rd<9>; .reg .pred %p<9>;\n .shared .align 16 .b8 tile[128];\n"
                  " ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd8, %r1, 16;\n"
                  " add.s64 %rd1, %rd1, %rd8; mov.u32 %r2, 0; mov.u64 %rd2, 0;\n"
                  " ld.shared.u32 %r9, [tile]; setp.gt.u32 %p1, %r9, 5;\n" +
                  body + "\n st.global.u32 [%rd1], %r2; st.global.u64 [%rd1+8], %rd2; ret;\n}\n"));
  kernel.config().block = {32, 1, 1};
  kernel.arg(kernel.buffer(std::vector<uint32_t>(128), "data"));
  std::string kinds;
  for (const DeviceFinding& finding : kernel.run(false).findings) {
    kinds += fmt::format("{} ", name_of(finding.kind));
  }
  return kinds;
}

TEST(Definedness, ReadingAndThrowingAwayIsNoFault) { EXPECT_EQ(kinds_of(""), ""); }

TEST(Definedness, AMaskMadeOfUndefinedConditionsIsAnUndefinedOutput) {
  for (const char* body : {
           "selp.b32 %r3, 4, 0, %p1; and.b32 %r4, %r1, 3; or.b32 %r2, %r3, %r4;",
           "or.b32 %r3, %r1, 64; selp.b32 %r4, %r3, %r1, %p1; or.b32 %r2, %r4, 1;",
           "selp.b32 %r3, 1, 0, %p1; shl.b32 %r4, %r3, 9; and.b32 %r5, %r1, 3; or.b32 %r2, %r4, "
           "%r5;",
           "selp.u16 %rs1, 1, 0, %p1; mov.u16 %rs2, 0; or.b16 %rs3, %rs1, %rs2; "
           "cvt.u32.u16 %r2, %rs3;",
           "selp.b64 %rd3, 1, 0, %p1; shl.b64 %rd4, %rd3, 40; or.b64 %rd2, %rd4, %rd2;",
           "setp.gt.u32 %p2, %r1, 99; or.pred %p3, %p1, %p2; selp.u32 %r2, 1, 0, %p3;",
           "setp.lt.u32 %p2, %r1, 99; and.pred %p3, %p1, %p2; selp.u32 %r2, 1, 0, %p3;",
       }) {
    EXPECT_EQ(kinds_of(body), "uninitialized ") << body;
  }
}

TEST(Definedness, WhatTheOtherOperandDecidesIsDefined) {
  for (const char* body : {
           "selp.b32 %r3, 4, 0, %p1; or.b32 %r2, %r3, 7;",
           "selp.b32 %r3, 4, 0, %p1; or.b32 %r4, %r3, 16; and.b32 %r2, %r4, 16;",
           "selp.b32 %r3, 4, 0, %p1; shr.u32 %r2, %r3, 3;",
           "selp.b32 %r3, 1, 0, %p1; shl.b32 %r2, %r3, 32;",
           "or.b32 %r3, %r1, 0; selp.b32 %r2, %r3, %r1, %p1;",
           "setp.lt.u32 %p2, %r1, 99; or.pred %p3, %p1, %p2; selp.u32 %r2, 1, 0, %p3;",
           "setp.gt.u32 %p2, %r1, 99; and.pred %p3, %p1, %p2; selp.u32 %r2, 1, 0, %p3;",
       }) {
    EXPECT_EQ(kinds_of(body), "") << body;
  }
}

TEST(Definedness, VotesAndReductionsHaveWhatTheirLanesHave) {
  // %p1 is undefined in all lanes, %p3 where the thread is 5.
  const std::string one = "setp.eq.u32 %p2, %r1, 5; and.pred %p3, %p1, %p2; ";
  EXPECT_EQ(kinds_of("vote.sync.ballot.b32 %r2, %p1, 0xffffffff;"), "uninitialized ");
  EXPECT_EQ(kinds_of(one + "vote.sync.any.pred %p4, %p3, 0xffffffff; selp.u32 %r2, 1, 0, %p4;"),
            "uninitialized ");
  EXPECT_EQ(kinds_of(one + "selp.u32 %r3, 1, 0, %p3; redux.sync.add.u32 %r2, %r3, 0xffffffff;"),
            "uninitialized ");
  // Values that other lanes decide, and lanes that are masked out.
  EXPECT_EQ(kinds_of(one + "vote.sync.all.pred %p4, %p3, 0xffffffff; selp.u32 %r2, 1, 0, %p4;"),
            "");
  EXPECT_EQ(kinds_of(one + "vote.sync.ballot.b32 %r3, %p3, 0xffffffff; and.b32 %r2, %r3, 31;"), "");
  EXPECT_EQ(kinds_of(one + "vote.sync.ballot.b32 %r3, %p3, 0xffffffff; and.b32 %r2, %r3, 32;"),
            "uninitialized ");
}

TEST(Definedness, PartsOfAWordAreInDoubtDefinedAndMaskedBytesAreNot) {
  EXPECT_EQ(kinds_of("shl.b32 %r3, %r9, 16; or.b32 %r2, %r3, %r1;"), "");
  EXPECT_EQ(kinds_of("and.b32 %r2, %r9, 255;"), "uninitialized ");
}

/// A value that means nothing ends the turn of a path; the next turn may belong to another one, in
/// another function.
TEST(Definedness, IsFollowedWhereAnotherPathOfTheWarpHasTheNextTurn) {
  TestKernel kernel(with_header(R"(
.func (.param .b32 r) down(.param .b32 v) {
  .reg .b32 %r<9>;
  ld.param.u32 %r2, [v];
  shfl.sync.down.b32 %r4, %r2, 16, 31, 65535;
  mov.b32 %r5, %r2;
  mov.b32 %r4, 0;
  st.param.b32 [r], %r5;
  ret;
}
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2; nanosleep.u32 1; mov.u32 %r7, 2000; mov.u32 %r8, 0;
  setp.ge.u32 %p1, %r1, 16; @%p1 bra OTHERS;
CALLERS:
  { .param .b32 b; st.param.b32 [b], %r7; .param .b32 q;
    call.uni (q), down, (b); ld.param.b32 %r4, [q]; }
  add.u32 %r8, %r8, %r4; sub.u32 %r7, %r7, 1; setp.ne.u32 %p2, %r7, 0; @%p2 bra CALLERS;
  bra OUT;
OTHERS:
  add.u32 %r8, %r8, 3; sub.u32 %r7, %r7, 1; setp.ne.u32 %p2, %r7, 0; @%p2 bra OTHERS;
OUT:
  st.global.u32 [%rd1], %r8; ret;
}
)"));
  kernel.config().block = {32, 1, 1};
  const uint64_t sums = kernel.buffer(std::vector<uint32_t>(32), "sums");
  kernel.arg(sums);
  EXPECT_TRUE(kernel.run(false).findings.empty());
  const auto found = kernel.read<uint32_t>(sums, 32);
  EXPECT_EQ(found[15], 2'001'000U);
  EXPECT_EQ(found[16], 6'000U);
}

}  // namespace
}  // namespace gpuemu::emulator
