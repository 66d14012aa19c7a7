// atom and red on global and shared memory, from several blocks at once.
#include <bit>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// Every thread of 8 blocks of 64 runs `body`: %rd is the address of 16 zeroed words, %i the
/// thread's number.
template <typename T>
std::vector<T> all_threads(const std::string& body, std::vector<T> start) {
  std::string text =
      ".visible .entry k(.param .u64 p) { .reg .b32 %i, %x, %y; .reg .b64 %rd, %z; .reg .f32 %f; "
      ".reg .b16 %h; .reg .pred %p;\nmov.u32 %i, %ctaid.x; mov.u32 %x, %tid.x; "
      "mad.lo.u32 %i, %i, 64, %x; ld.param.u64 %rd, [p];\n";
  text.append(body).append("\nret; }");
  TestKernel kernel(with_header(text));
  const uint64_t at = kernel.buffer(start);
  kernel.config().grid = {8, 1, 1};
  kernel.config().block = {64, 1, 1};
  kernel.arg(at).run();
  return kernel.read<T>(at, start.size());
}

TEST(Atomics, OfGlobalFloatsFlushSubnormals) {
  const auto got = all_threads<uint32_t>(R"(
    .shared .b32 sum[1]; setp.ne.u32 %p, %x, 0; @!%p st.shared.u32 [sum], 0; bar.sync 0;
    setp.ne.u32 %p, %i, 0; @%p bra DONE;
    mov.b32 %f, 0x00000061; red.global.add.f32 [%rd], %f; atom.shared.add.f32 %f, [sum], %f;
    ld.shared.u32 %y, [sum]; st.global.u32 [%rd+4], %y;
    mov.b32 %f, 0x7fc00001; red.global.add.f32 [%rd+8], %f;
    DONE:)",
                                         {0x80000001u, 0, 0});
  EXPECT_EQ(got, (std::vector<uint32_t>{0u, 0x61u, 0x7fffffffu}));
}

TEST(Atomics, OfIntegersLoseNoUpdate) {
  const auto got = all_threads<uint32_t>(R"(
    red.global.add.u32 [%rd], %i; atom.global.max.u32 %x, [%rd+4], %i;
    atom.global.gpu.acq_rel.min.s32 %x, [%rd+8], %i;
    red.or.b32 [%rd+12], %i; red.global.xor.b32 [%rd+16], %i; atom.global.inc.u32 %x, [%rd+20], 99;
    atom.global.dec.u32 %x, [%rd+24], 99; atom.global.and.b32 %x, [%rd+28], 0xfffffff0;)",
                                         {0, 0, 1000, 0, 0, 0, 0, 0xff});
  EXPECT_EQ(got, (std::vector<uint32_t>{512 * 511 / 2, 511, 0, 511, 0, 512 % 100, 88, 0xf0}));
}

TEST(Atomics, CompareAndSwapMakesALock) {
  const auto got = all_threads<uint32_t>(R"(
  AGAIN: atom.global.cas.b32 %x, [%rd], 0, 1; setp.ne.u32 %p, %x, 0; @%p bra AGAIN;
    ld.global.u32 %y, [%rd+4]; add.u32 %y, %y, 1; st.global.u32 [%rd+4], %y; membar.gl;
    atom.global.exch.b32 %x, [%rd], 0;)",
                                         {0, 0});
  EXPECT_EQ(got[1], 512u);
}

TEST(Atomics, LanesMeetAgainAfterALock) {
  const auto got = all_threads<uint32_t>(R"(
  AGAIN: atom.global.cas.b32 %x, [%rd], 0, 1; setp.ne.u32 %p, %x, 0; @%p bra AGAIN;
    ld.global.u32 %y, [%rd+4]; add.u32 %y, %y, 1; st.global.u32 [%rd+4], %y; membar.gl;
    atom.global.exch.b32 %x, [%rd], 0;
    bar.warp.sync 0xffffffff; shfl.sync.bfly.b32 %y, %i, 1, 31, 0xffffffff;
    bar.sync 0; atom.global.add.u32 %x, [%rd+8], %y;)",
                                         {0, 0, 0});
  EXPECT_EQ(got, (std::vector<uint32_t>{0, 512, 512 * 511 / 2}));
}

TEST(Atomics, LanesThatWaitForALaneBehindThemGetTheirFlag) {
  // The last lane of each warp raises the flag only after the branch at which the others spin.
  const auto got = all_threads<uint32_t>(R"(
    mov.u32 %x, %laneid; setp.eq.u32 %p, %x, 31; @%p bra RAISE;
  WAIT: ld.volatile.global.u32 %x, [%rd]; setp.eq.u32 %p, %x, 0; @%p bra WAIT;
    bra JOIN;
  RAISE: mov.u32 %x, 1; st.volatile.global.u32 [%rd], %x;
  JOIN: bar.warp.sync 0xffffffff; red.global.add.u32 [%rd+4], 1;)",
                                         {0, 0});
  EXPECT_EQ(got, (std::vector<uint32_t>{1, 512}));
}

TEST(Atomics, ALockInAFunctionLetsItsHolderGoOn) {
  TestKernel kernel(with_header(R"(
.func take(.param .u64 lock) { .reg .b64 %r; .reg .b32 %x; .reg .pred %p; ld.param.u64 %r, [lock];
AGAIN: atom.global.cas.b32 %x, [%r], 0, 1; setp.ne.u32 %p, %x, 0; @%p bra AGAIN; ret; }
.visible .entry k(.param .u64 p) { .reg .b64 %r; .reg .b32 %x; ld.param.u64 %r, [p];
 { .param .u64 a; st.param.u64 [a], %r; call take, (a); }
 ld.global.u32 %x, [%r+4]; add.u32 %x, %x, 1; st.global.u32 [%r+4], %x;
 atom.global.exch.b32 %x, [%r], 0;
 bar.sync 0; red.global.add.u32 [%r+8], 1; ret; })"));
  const uint64_t at = kernel.buffer(std::vector<uint32_t>(3));
  kernel.config().block = {64, 1, 1};
  kernel.arg(at).run();
  EXPECT_EQ(kernel.read<uint32_t>(at, 3), (std::vector<uint32_t>{0, 64, 64}));
}

TEST(Atomics, BlocksWaitForEachOther) {
  TestKernel kernel(with_header(R"(.visible .entry k(.param .u64 p) {
 .reg .b64 %r; .reg .b32 %x, %n; .reg .pred %p; ld.param.u64 %r, [p]; mov.u32 %n, %nctaid.x;
 mov.u32 %x, %tid.x; setp.ne.u32 %p, %x, 0; @%p bra BEHIND;
 atom.global.add.u32 %x, [%r], 1;
 WAIT: atom.global.add.u32 %x, [%r], 0; setp.lt.u32 %p, %x, %n; @%p bra WAIT;
 BEHIND: bar.sync 0; red.global.add.u32 [%r+4], 1; ret; })"));
  const uint64_t at = kernel.buffer(std::vector<uint32_t>(2));
  kernel.config().grid = {12, 1, 1};
  kernel.config().block = {64, 1, 1};
  kernel.arg(at).run();
  EXPECT_EQ(kernel.read<uint32_t>(at, 2), (std::vector<uint32_t>{12, 12 * 64}));
}

/// Adds 1 to the 16 bits at byte `at` of a buffer of 6 bytes as compilers do it where the device
/// has no such atomic, and `beside` to the other half of their word.
LaunchReport half_by_words(uint32_t at, uint32_t beside, std::vector<uint16_t>& numbers) {
  TestKernel kernel(
      with_header(R"(.visible .entry k(.param .u64 p, .param .u32 at, .param .u32 by) {
 .reg .b64 %r, %o; .reg .b32 %x, %y, %n, %at, %by, %m; .reg .pred %p; ld.param.u64 %r, [p];
 ld.param.u32 %at, [at]; ld.param.u32 %by, [by]; and.b32 %n, %at, -4; cvt.u64.u32 %o, %n;
 add.u64 %r, %r, %o; and.b32 %at, %at, 2; shl.b32 %at, %at, 3; mov.u32 %m, 1; shl.b32 %m, %m, %at;
 add.u32 %m, %m, %by; ld.global.u32 %x, [%r];
 AGAIN: add.u32 %y, %x, %m; atom.global.cas.b32 %n, [%r], %x, %y; setp.eq.u32 %p, %n, %x;
 mov.u32 %x, %n; @!%p bra AGAIN; ret; })"));
  const uint64_t base = kernel.buffer(numbers);
  kernel.config().block = {64, 1, 1};
  kernel.arg(base).arg(at).arg(beside);
  const auto report = kernel.launch();
  EXPECT_TRUE(report) << report.error().message;
  numbers = kernel.read<uint16_t>(base, numbers.size());
  return report ? *report : LaunchReport{};
}

TEST(Atomics, OfHalvesBuiltFromWordsReachTheEndOfAnAllocation) {
  for (const uint32_t at : {0u, 2u, 4u}) {
    std::vector<uint16_t> numbers = {10, 20, 30}, wanted = numbers;
    wanted[at / 2] += 64;
    EXPECT_TRUE(half_by_words(at, 0, numbers).findings.empty()) << at;
    EXPECT_EQ(numbers, wanted) << at;
  }
}

TEST(Atomics, OfAHalfBehindTheEndOfAnAllocationAreOutOfBounds) {
  for (const auto& [at, beside] : {std::pair(6u, 0u), std::pair(8u, 0u), std::pair(4u, 0x10000u)}) {
    std::vector<uint16_t> numbers = {10, 20, 30};
    const LaunchReport report = half_by_words(at, beside, numbers);
    ASSERT_FALSE(report.findings.empty()) << at;
    EXPECT_EQ(report.findings[0].kind, DeviceFindingKind::OutOfBounds) << at;
  }
}

TEST(Atomics, AddFloatsAndPairsOfHalves) {
  const auto floats =
      all_threads<float>("mov.f32 %f, 0f3f000000; red.global.add.f32 [%rd], %f;", {1.0f});
  EXPECT_EQ(floats[0], 257.0f);
  const auto halves =
      all_threads<uint32_t>("mov.u32 %x, 0x3c003800; red.global.add.noftz.f16x2 [%rd], %x;", {0});
  EXPECT_EQ(halves[0], 0x60005c00u);  // 512 and 256
  const auto doubles = all_threads<double>(
      "mov.b64 %z, 0d3FF8000000000000; atom.global.add.f64 %z, [%rd], %z;", {0.0});
  EXPECT_EQ(doubles[0], 768.0);
}

}  // namespace
}  // namespace gpuemu::emulator
