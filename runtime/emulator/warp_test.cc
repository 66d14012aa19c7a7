// Tests lanes that diverge and reconverge, warps that wait for each other, and exchange between
// lanes.
#include <bit>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

std::vector<uint32_t> lanes() {
  std::vector<uint32_t> out(32);
  for (uint32_t i = 0; i < 32; ++i) out[i] = i;
  return out;
}
/// evaluate() over one warp: blocks of 64 have a second, exited one.
std::vector<uint32_t> warp_of(const std::string& body) {
  std::vector<uint32_t> both = lanes();
  for (const uint32_t lane : lanes()) both.push_back(lane);
  std::vector<uint32_t> out = evaluate<uint32_t, uint32_t>(body, both, both);
  out.resize(32);
  return out;
}

TEST(Divergence, LoopsOfDifferentLengthMeetAgain) {
  const auto got = warp_of(R"(
    mov.u32 %d, 0; mov.u32 %x, 0;
  LOOP: setp.ge.u32 %p, %x, %a; @%p bra OUT; add.u32 %d, %d, %x; add.u32 %x, %x, 1; bra LOOP;
  OUT: activemask.b32 %y; setp.ne.u32 %q, %y, 0xffffffff; @%q mov.u32 %d, 999;)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i * (i == 0 ? 0 : i - 1) / 2);
}

TEST(Divergence, NestedBranchesAndEarlyExits) {
  const auto got = warp_of(R"(
    mov.u32 %d, 1; and.b32 %x, %a, 3; setp.eq.u32 %p, %x, 0; @%p bra A;
    setp.eq.u32 %p, %x, 1; @%p bra B; mov.u32 %d, 20; bra C;
  A: mov.u32 %d, 30; setp.gt.u32 %q, %a, 16; @%q bra C; add.u32 %d, %d, 1; bra C;
  B: mov.u32 %d, 40;
  C: add.u32 %d, %d, 100;)");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got[i], 100 + (i % 4 == 0 ? (i > 16 ? 30u : 31u) : i % 4 == 1 ? 40u : 20u)) << i;
  }
}

TEST(Divergence, IndexedBranchesReachEveryTarget) {
  const auto got = warp_of(R"(
    and.b32 %x, %a, 3; T: .branchtargets A, B, C, D; brx.idx %x, T;
  A: mov.u32 %d, 10; bra E; B: mov.u32 %d, 11; bra E; C: mov.u32 %d, 12; bra E; D: mov.u32 %d, 13;
  E: add.u32 %d, %d, 5;)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 15 + i % 4) << i;
}

TEST(Exchange, ShufflesInSegments) {
  const auto down =
      warp_of("shfl.sync.down.b32 %d|%p, %a, 2, 0x181f, 0xffffffff; @!%p add.u32 %d, %d, 100;");
  const auto butterfly = warp_of("shfl.sync.bfly.b32 %d, %a, 5, 31, 0xffffffff;");
  const auto up =
      warp_of("shfl.sync.up.b32 %d|%p, %a, 3, 0, 0xffffffff; @!%p add.u32 %d, %d, 100;");
  const auto index = warp_of("shfl.sync.idx.b32 %d, %a, 9, 0x181f, 0xffffffff;");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(down[i], i % 8 < 6 ? i + 2 : i + 100) << i;
    EXPECT_EQ(butterfly[i], i ^ 5) << i;
    EXPECT_EQ(up[i], i >= 3 ? i - 3 : i + 100) << i;
    EXPECT_EQ(index[i], (i & 24) + 1) << i;
  }
}

TEST(Exchange, VotesMatchesAndReduces) {
  EXPECT_EQ(warp_of("setp.lt.u32 %p, %a, 5; vote.sync.ballot.b32 %d, %p, 0xffffffff;")[9], 31u);
  EXPECT_EQ(
      warp_of(
          "setp.lt.u32 %p, %a, 5; vote.sync.any.pred %q, %p, 0xffffffff; selp.b32 %d, 1, 0, %q;")
          [9],
      1u);
  EXPECT_EQ(warp_of("and.b32 %x, %a, 1; match.any.sync.b32 %d, %x, 0xffffffff;")[3], 0xaaaaaaaau);
  EXPECT_EQ(warp_of("redux.sync.add.s32 %d, %a, 0xffffffff;")[0], 496u);
  EXPECT_EQ(warp_of("redux.sync.max.u32 %d, %a, 0xffffffff;")[7], 31u);
}

TEST(Barriers, OrderWarpsAndReduce) {
  TestKernel kernel(with_header(R"(
.visible .entry reverse(.param .u64 out) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;
  .shared .align 4 .b8 tile[1024];
  mov.u32 %r1, %tid.x; mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;
  st.shared.u32 [%r2], %r1;
  bar.sync 0;
  sub.u32 %r4, 255, %r1; shl.b32 %r4, %r4, 2; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4;
  ld.shared.u32 %r6, [%r5];
  setp.lt.u32 %p, %r1, 100; bar.red.popc.u32 %r7, 0, %p; add.u32 %r6, %r6, %r7;
  ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r6; ret; })"));
  const uint64_t out = *kernel.device().allocate(1024, "out");
  kernel.config().block = {256, 1, 1};
  kernel.arg(out).run();
  const auto got = kernel.read<uint32_t>(out, 256);
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(got[i], 255 - i + 100);
}

TEST(Calls, RecurseWithTheirOwnRegisters) {
  TestKernel kernel(with_header(R"(
.func (.param .b32 result) fib(.param .b32 n) {
  .reg .b32 %r<8>; .reg .pred %p;
  ld.param.u32 %r1, [n]; setp.lt.u32 %p, %r1, 2; @%p bra DONE;
  { .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2; call (r), fib, (a);
    ld.param.b32 %r3, [r]; }
  { .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 2; st.param.b32 [a], %r2; call (r), fib, (a);
    ld.param.b32 %r4, [r]; }
  add.u32 %r1, %r3, %r4;
DONE: st.param.b32 [result], %r1; ret; }
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), fib, (a); ld.param.b32 %r2, [r];
    }
  ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r2; ret; })"));
  const uint64_t out = *kernel.device().allocate(64, "out");
  kernel.config().block = {16, 1, 1};
  kernel.arg(out).run();
  EXPECT_EQ(kernel.read<uint32_t>(out, 16),
            (std::vector<uint32_t>{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610}));
}

/// Lanes that parted before a call make it on their own: the shuffle in the function still has all.
TEST(Calls, OfLanesThatPartedMeetInTheFunction) {
  TestKernel kernel(with_header(R"(
.func (.param .b32 result) opposite(.param .b32 n) {
  .reg .b32 %r<8>; .reg .b64 %rd<3>; .reg .pred %p; .local .b32 own;
  ld.param.u32 %r1, [n]; mul.lo.u32 %r2, %r1, 100; st.local.u32 [own], %r2;
  mul.wide.u32 %rd1, %r1, 10000; setp.gt.u32 %p, %r1, 15;
  shfl.sync.bfly.b32 %r3, %r1, 31, 31, -1;
  ld.local.u32 %r4, [own]; add.u32 %r3, %r3, %r4; cvt.u32.u64 %r5, %rd1; add.u32 %r3, %r3, %r5;
  @%p add.u32 %r3, %r3, 1000000;
  st.param.b32 [result], %r3; ret; }
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<3>;
  mov.u32 %r1, %tid.x; mov.u32 %r3, 10; nanosleep.u32 1;
  setp.lt.u32 %p1, %r1, 28; @%p1 bra MEET;
  mov.u32 %r3, 100000;
LONG: sub.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 10; @%p2 bra LONG;
MEET:
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), opposite, (a);
    ld.param.b32 %r2, [r]; }
  add.u32 %r2, %r2, %r3;
  ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r2; ret; })"));
  const uint64_t out = *kernel.device().allocate(128, "out");
  kernel.config().block = {32, 1, 1};
  const auto launched = kernel.arg(out).run(false);
  for (const DeviceFinding& finding : launched.findings) ADD_FAILURE() << finding.message;
  const auto got = kernel.read<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got[i], 31 - i + 10'100 * i + (i > 15 ? 1'000'000 : 0) + 10) << i;
  }
}

}  // namespace
}  // namespace gpuemu::emulator
