// Whole kernels: vector addition, divergence, barriers, shuffles, findings.
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

const char* const kVectorAdd = R"(
.visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $L__BB0_2;
  cvta.to.global.u64 %rd4, %rd1;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  cvta.to.global.u64 %rd7, %rd2;
  add.s64 %rd8, %rd7, %rd5;
  ld.global.f32 %f1, [%rd8];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f2, %f1;
  cvta.to.global.u64 %rd9, %rd3;
  add.s64 %rd10, %rd9, %rd5;
  st.global.f32 [%rd10], %f3;
$L__BB0_2:
  ret;
}
)";

std::vector<float> ramp(size_t count, float step) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i) * step;
  return out;
}

TEST(Emulator, AddsVectorsOfAnUnevenLength) {
  TestKernel kernel(with_header(kVectorAdd));
  const size_t n = 1000;
  const uint64_t a = kernel.buffer(ramp(n, 1.0f)), b = kernel.buffer(ramp(n, 0.5f));
  const uint64_t c = *kernel.device().allocate(n * 4, "c");
  kernel.config().grid = {8, 1, 1};
  kernel.config().block = {128, 1, 1};
  kernel.arg(a).arg(b).arg(c).arg(static_cast<uint32_t>(n));
  const LaunchReport report = kernel.run();
  EXPECT_EQ(kernel.read<float>(c, n), ramp(n, 1.5f));
  EXPECT_EQ(report.thread_instructions,
            1024 * 9 + 24 + n * 11 + 1024);  // A guard that is false does not count.
}

TEST(Emulator, NamesTensorOffsetAndThreadOfAStoreBeyondTheEnd) {
  TestKernel kernel(with_header(kVectorAdd));
  const uint64_t a = kernel.buffer(ramp(64, 1.0f)), b = kernel.buffer(ramp(64, 1.0f));
  const uint64_t c = *kernel.device().allocate(60 * 4, "result");
  kernel.config().block = {64, 1, 1};
  kernel.arg(a).arg(b).arg(c).arg(uint32_t{64});
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  const DeviceFinding& finding = report.findings[0];
  EXPECT_EQ(name_of(finding.kind), "out_of_bounds");
  EXPECT_EQ(finding.tensor, "result");
  EXPECT_EQ(finding.byte_offset, 240);
  EXPECT_EQ(finding.count, 4u);
  EXPECT_EQ(finding.thread, (Dim3{60, 0, 0}));
  EXPECT_NE(
      finding.message.find("writes 4 bytes at byte offset 240 of 'result', which has 240 bytes"),
      std::string::npos)
      << finding.message;
  EXPECT_EQ(kernel.read<float>(c, 60), ramp(60, 2.0f));
}

TEST(Emulator, ReportsReadsOfBytesThatNobodyWrote) {
  TestKernel kernel(with_header(kVectorAdd));
  const uint64_t a = kernel.buffer(ramp(32, 1.0f));
  const uint64_t b = *kernel.device().allocate(32 * 4, "b"),
                 c = *kernel.device().allocate(32 * 4, "c");
  kernel.arg(a).arg(b).arg(c).arg(uint32_t{32});
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "uninitialized");
  EXPECT_EQ(report.findings[0].tensor, "b");
}

}  // namespace
}  // namespace gpuemu::emulator
