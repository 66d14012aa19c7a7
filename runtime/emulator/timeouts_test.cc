// Tests when a launch that takes long is ended.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/emulator/emulator.h"
#include "runtime/emulator/test_kernel.h"

namespace gpuemu::emulator {
namespace {

std::string entry(const std::string& body) {
  return with_header(".visible .entry k() {\n" + body + "\nret;\n}\n");
}

/// Returns a kernel of blocks of one thread that count to `count`; block `endless` never ends.
std::string counting(uint32_t count, uint32_t endless) {
  return entry(fmt::format(R"( .reg .b32 %r<3>; .reg .pred %p<3>; mov.u32 %r1, 0;
    mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, {};
    L: add.u32 %r1, %r1, 1; setp.lt.or.u32 %p2, %r1, {}, %p1; @%p2 bra L;)",
                           endless, count));
}

TEST(Timeouts, ManyTinyBlocksEndAtTheTimeout) {
  TestKernel kernel(entry(""));
  kernel.config().grid = {2147483647, 1, 1};
  kernel.config().block = {1, 1, 1};
  kernel.config().timeout_ms = 20;
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "timeout");
}

TEST(Timeouts, OneThatRestartsEndsWhatHangsAndNotWhatIsSlow) {
  constexpr uint32_t kCount = 1 << 19, kNone = ~0u, kBlocks = 24;
  const auto kernel_of = [](uint32_t endless) {
    auto kernel =
        std::make_unique<TestKernel>(counting(kCount, endless), EmulatorOptions{.threads = 1});
    kernel->config().block = {1, 1, 1};
    return kernel;
  };
  const auto slow = kernel_of(kNone);
  uint64_t block_ns = ~uint64_t{0};  // The least of several: other programs may run meanwhile.
  for (int again = 0; again < 5; ++again) {
    block_ns = std::min(block_ns, slow->run().elapsed_ns);
  }
  const uint64_t timeout_ms = 20 + 6 * block_ns / 1'000'000;
  const auto run_all = [&](TestKernel& kernel, bool restarts) {
    kernel.config().grid = {kBlocks, 1, 1};
    kernel.config().timeout_ms = timeout_ms;
    kernel.config().timeout_restarts = restarts;
    kernel.config().timeout_stretches = restarts;
    return kernel.run(false);
  };
  EXPECT_TRUE(run_all(*slow, true).findings.empty());
  const LaunchReport stopped = run_all(*slow, false);
  ASSERT_EQ(stopped.findings.size(), 1u);
  EXPECT_TRUE(stopped.findings[0].message.starts_with("the launch did not end within"))
      << stopped.findings[0].message;
  const LaunchReport ended = run_all(*kernel_of(kBlocks - 1), true);
  ASSERT_EQ(ended.findings.size(), 1u);
  EXPECT_EQ(name_of(ended.findings[0].kind), "timeout");
  EXPECT_TRUE(ended.findings[0].message.starts_with("no block of the launch ended in the last"))
      << ended.findings[0].message;
  EXPECT_NE(ended.findings[0].message.find("--launch-timeout"), std::string::npos);
}

TEST(Timeouts, AnEndlessLoopEndsAtItsInstructions) {
  TestKernel kernel(entry("L: bra L;"));
  kernel.config().warp_instructions_max = 100'000;
  const LaunchReport report = kernel.run(false);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(name_of(report.findings[0].kind), "timeout");
  EXPECT_NE(report.findings[0].message.find("more than 100000 warp"), std::string::npos);
}

TEST(Timeouts, TheLongestTimeoutIsAccepted) {
  TestKernel kernel(entry(""));
  kernel.config().timeout_ms = ~uint64_t{0};
  kernel.run();
}

}  // namespace
}  // namespace gpuemu::emulator
