// Tests faulty kernels, which give findings rather than errors, and what each backend detects.
#include <algorithm>

#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

class Faults : public Conformance {
 protected:
  /// One entry k(.u64 p) with this body.
  LaunchReport run(const std::string& body, uint64_t pointer, uint64_t timeout_ms = 5000) {
    const ModuleId module = load(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .u64 %rd<4>;\n.reg .u32 %r<4>;\n.reg .pred %p<2>;\n.shared .align 4 .b8 s[256];\n"
        "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\n" +
        body + "\nret;\n}\n");
    LaunchConfig config;
    config.entry = "k";
    config.block = {32, 1, 1};
    config.args = {bytes_of(pointer)};
    config.timeout_ms = timeout_ms;
    auto report = device_->launch(module, config);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *std::move(report) : LaunchReport{};
  }
  static std::vector<std::string> kinds(const LaunchReport& report) {
    std::vector<std::string> out;
    for (const DeviceFinding& finding : report.findings) {
      out.push_back(std::string(name_of(finding.kind)));
    }
    return out;
  }
  /// After a fault a GPU is lost until its process is replaced; the emulator goes on.
  void expect_state_after_fault() {
    const auto after = device_->allocate(16, "after");
    EXPECT_EQ(after.ok(), is_emulator());
    if (!after) {
      EXPECT_EQ(after.error().code, ErrorCode::Unavailable) << after.error().message;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Emulator, Faults, testing::Values("emulator"));
// A fault loses the GPU for this process: run one by one, as ctest does; otherwise later ones skip.
INSTANTIATE_TEST_SUITE_P(Cuda, Faults, testing::Values("cuda"));

TEST_P(Faults, ReportsAReadBehindATensorWithItsName) {
  if (!device_->properties().checks_bounds) GTEST_SKIP() << "hardware knows pages, not tensors";
  const LaunchReport report = run("ld.global.u32 %r2, [%rd2+64];\nst.global.u32 [%rd2], %r2;",
                                  upload<int>(std::vector<int>(16), "weights"));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(name_of(report.findings[0].kind), "out_of_bounds");
  EXPECT_EQ(report.findings[0].tensor, "weights");
  EXPECT_EQ(report.findings[0].byte_offset, 64);
  EXPECT_NE(report.findings[0].message.find("weights"), std::string::npos);
  expect_state_after_fault();
}

TEST_P(Faults, ReportsAWriteBeforeATensor) {
  if (!device_->properties().checks_bounds) GTEST_SKIP() << "hardware knows pages, not tensors";
  const LaunchReport report = run("st.global.u32 [%rd2+-4], %r1;", upload<int>({1, 2, 3}, "y"));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(name_of(report.findings[0].kind), "out_of_bounds");
  EXPECT_EQ(report.findings[0].byte_offset, -4);
}

TEST_P(Faults, ReportsANullPointer) {
  EXPECT_FALSE(run("ld.global.u32 %r2, [%rd2];\nst.global.u32 [%rd2], %r2;", 0).findings.empty());
  expect_state_after_fault();
}

TEST_P(Faults, ReportsAMisalignedAccess) {
  const auto found = kinds(run("ld.global.u32 %r2, [%rd2+2];\nst.global.u32 [%rd2], %r2;",
                               upload<int>({1, 2, 3, 4}, "x")));
  EXPECT_NE(std::ranges::find(found, "misaligned"), found.end());
}

TEST_P(Faults, ReportsATrap) {
  const auto found = kinds(run("trap;", 0));
  EXPECT_EQ(found, std::vector<std::string>{"trap"});
}

TEST_P(Faults, StopsAKernelThatDoesNotEnd) {
  const auto found = kinds(run("again:\nadd.u32 %r1, %r1, 1;\nbra again;", 0, 100));
  EXPECT_EQ(found, std::vector<std::string>{"timeout"});
  expect_state_after_fault();
}

TEST_P(Faults, ReportsUninitialisedSharedMemory) {
  if (!device_->properties().checks_bounds) GTEST_SKIP() << "hardware does not see it";
  const auto found =
      kinds(run("ld.shared.u32 %r2, [s];\nst.global.u32 [%rd2], %r2;", upload<int>({0}, "y")));
  EXPECT_NE(std::ranges::find(found, "uninitialized"), found.end());
}

TEST_P(Faults, LeavesACorrectKernelAlone) {
  EXPECT_TRUE(run("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra done;\nst.global.u32 [%rd2], 7;\ndone:",
                  upload<int>({0}, "y"))
                  .findings.empty());
}

}  // namespace
}  // namespace gpuemu
