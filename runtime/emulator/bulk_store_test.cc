// st.bulk: zeros in a range of shared memory, and what can be wrong with the range.
#include <algorithm>

#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

/// One block of 64 threads with 64 words of shared memory, which hold 7. `body` has the byte
/// offset of the thread's word in %r2 and its address in %r3.
std::string entry(const std::string& body) {
  return ".version 8.6\n.target sm_100\n.address_size 64\n"
         ".visible .entry k(.param .u64 out) {\n"
         " .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p; .shared .align 16 .b32 tile[64];\n"
         " mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r4, tile; add.u32 %r3, %r4, %r2;\n"
         " mov.u32 %r5, 7; st.shared.u32 [%r3], %r5; ld.param.u64 %rd1, [out];\n"
         " cvt.u64.u32 %rd2, %r4; cvt.u64.u32 %rd3, %r2; add.u64 %rd1, %rd1, %rd3;\n"
         " setp.eq.u32 %p, %r1, 0;\n" +
         body + "\n ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd1], %r6; ret; }\n";
}
struct Outcome {
  std::vector<DeviceFinding> findings;
  std::vector<uint32_t> out;
};
Outcome run(const std::string& body) {
  TestKernel kernel(entry(body), 100);
  kernel.config().block = {64, 1, 1};
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(64), "out");
  const LaunchReport report = kernel.arg(out).run(false);
  return {report.findings, kernel.read<uint32_t>(out, 64)};
}
std::string kind_of(const Outcome& outcome) {
  return outcome.findings.empty() ? "" : std::string(name_of(outcome.findings[0].kind));
}

TEST(BulkStore, FillsTheRangeWithZeros) {
  const Outcome outcome = run(
      "bar.sync 0; mov.u64 %rd4, 80; @%p st.bulk.weak.shared::cta [%rd2+16], %rd4, 0; bar.sync 0;");
  EXPECT_EQ(kind_of(outcome), "");
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(outcome.out[i], i >= 4 && i < 24 ? 0 : 7) << i;
}
TEST(BulkStore, TakesGenericAddresses) {
  const Outcome outcome =
      run("bar.sync 0; cvta.shared.u64 %rd5, %rd2; mov.u64 %rd4, 256; @%p st.bulk [%rd5], %rd4, 0; "
          "bar.sync 0;");
  EXPECT_EQ(kind_of(outcome), "");
  EXPECT_EQ(outcome.out, std::vector<uint32_t>(64, 0));
}
TEST(BulkStore, OfNothingTouchesNothing) {
  const Outcome outcome =
      run("mov.u64 %rd4, 0; add.u64 %rd5, %rd2, 4; @%p st.bulk.shared::cta [%rd5], %rd4, 0;");
  EXPECT_EQ(kind_of(outcome), "");
}
TEST(BulkStore, BeyondSharedMemoryIsFound) {
  EXPECT_EQ(kind_of(run("mov.u64 %rd4, 264; @%p st.bulk.shared::cta [%rd2], %rd4, 0;")),
            "out_of_bounds");
  EXPECT_EQ(kind_of(run("@%p st.bulk [%rd1], 8, 0;")), "out_of_bounds");
}
TEST(BulkStore, NeedsMultiplesOfEight) {
  EXPECT_EQ(kind_of(run("mov.u64 %rd4, 12; @%p st.bulk.shared::cta [%rd2], %rd4, 0;")),
            "misaligned");
  EXPECT_EQ(kind_of(run("mov.u64 %rd4, 16; @%p st.bulk.shared::cta [%rd2+4], %rd4, 0;")),
            "misaligned");
}
TEST(BulkStore, RacesWithAccessesOfOtherWarpsWithoutABarrier) {
  const auto finds = [](const std::string& body, const std::string& kind) {
    const Outcome outcome = run(body);
    return std::ranges::any_of(outcome.findings, [&](const DeviceFinding& finding) {
      return name_of(finding.kind) == kind;
    });
  };
  EXPECT_TRUE(finds("bar.sync 0; @%p st.bulk.shared::cta [%rd2], 256, 0;", "race_shared"))
      << "they read";
  EXPECT_TRUE(finds("@%p st.bulk.shared::cta [%rd2], 256, 0; bar.sync 0;", "race_shared"))
      << "they stored";
}
TEST(BulkStore, StoresZerosOnly) {
  EXPECT_EQ(kind_of(run("@%p st.bulk.shared::cta [%rd2], 8, 1;")), "unsupported_instruction");
}

}  // namespace
}  // namespace gpuemu::emulator
