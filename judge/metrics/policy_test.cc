// Tests every check on both sides of its limit.
#include "judge/metrics/policy.h"

#include <gtest/gtest.h>

#include "judge/metrics/plain_metrics.h"
#include "judge/metrics/ptx_metrics.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

constexpr char kPtx[] = R"(.version 8.0
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k()
{
	.reg .f32 %f<4>;
	.loc 1 12 3
	div.approx.f32 %f1, %f2, %f3;
	.loc 1 9 3
	add.f32 %f1, %f2, %f3;
	ret;
}
)";

/// A kernel with 40 registers, 8 spilled bytes, 16 bytes of stack, 4096 of shared memory.
class Policy : public testing::Test {
 protected:
  void SetUp() override {
    auto module = ptx::parse(kPtx, "k.ptx");
    ASSERT_TRUE(module);
    module_ = *std::move(module);
    CompiledMetrics compiled;
    compiled.arch = "sm_80";
    compiled.registers = 40;
    compiled.spill_store_bytes = 4;
    compiled.spill_load_bytes = 4;
    compiled.stack_bytes = 16;
    compiled.shared_bytes = 4096;
    compiled.occupancy = Occupancy{256, 0, 6, 48, 64, 0.75, OccupancyLimiter::Registers};
    result_.kernel_name = "k";
    result_.metrics = plain_metrics(kPtx);
    result_.metrics.ptx = measure_ptx(module_, module_.functions[0]);
    result_.metrics.compiled = {compiled};
    measured_.module = &module_;
    measured_.entry = &module_.functions[0];
    measured_.archs = {"sm_80"};
  }

  LintResult judged(const std::string& checks) {
    const ConfigResult loaded = parse_config(
        "[policies.artifact_checks]\nmax_registers = 64\nmax_spills = 100\nmax_local_memory = 100\n"
        "[[kernels]]\nname = \"k\"\n[kernels.artifact_checks]\n" +
            checks,
        "gpuemu.toml");
    EXPECT_TRUE(loaded.config) << loaded.text();
    LintResult result = result_;
    judge(*loaded.config, loaded.config->find_kernel("k"), measured_, result);
    return result;
  }

  ptx::Module module_;
  Measured measured_;
  LintResult result_;
};

struct Row {
  const char *passes, *fails;
  LintKind kind;
  const char* message;
};

TEST_F(Policy, EachCheckHoldsAtItsLimitAndFailsBeyondIt) {
  const Row rows[] = {
      {"max_registers = 40", "max_registers = 39", LintKind::ExcessiveRegisters,
       "k on sm_80: 40 registers per thread, the limit is 39 (max_registers)"},
      {"max_spills = 8", "max_spills = 7", LintKind::ExcessiveSpills,
       "k on sm_80: 8 bytes of spill stores and loads, the limit is 7 (max_spills)"},
      {"max_local_memory = 16", "max_local_memory = 15", LintKind::ExcessiveLocalMemory,
       "k on sm_80: 16 bytes of stack per thread, the limit is 15 (max_local_memory)"},
      {"max_shared_memory = 4096", "max_shared_memory = 4095", LintKind::ExcessiveSharedMemory,
       "k on sm_80: 4096 bytes of shared memory, the limit is 4095 (max_shared_memory)"},
      {"max_instructions = 3", "max_instructions = 2", LintKind::ExcessiveInstructions,
       "k on sm_80: 3 instructions, the limit is 2 (max_instructions)"},
      {"min_occupancy = 0.75", "min_occupancy = 0.76", LintKind::LowOccupancy,
       "k on sm_80: occupancy 0.75 (48 of 64 warps in blocks of 256 threads, limited by "
       "registers), "
       "the least is 0.76 (min_occupancy)"},
      {"required_patterns = ['^div\\.']", "required_patterns = ['^fma']",
       LintKind::MissingRequiredPattern,
       "k on sm_80: no instruction matches '^fma' (required_patterns)"},
      {"forbidden_patterns = ['approx$']", "forbidden_patterns = ['approx']",
       LintKind::ForbiddenPatternFound,
       "k on sm_80: div.approx.f32 at k.cu:12 matches 'approx' (forbidden_patterns)"},
  };
  for (const Row& row : rows) {
    const LintResult good = judged(row.passes);
    EXPECT_TRUE(good.passed && good.violations.empty()) << row.passes;
    const LintResult bad = judged(row.fails);
    EXPECT_FALSE(bad.passed) << row.fails;
    ASSERT_EQ(bad.violations.size(), 1u) << row.fails;
    EXPECT_EQ(bad.violations[0].kind, row.kind);
    EXPECT_EQ(bad.violations[0].message, row.message);
    EXPECT_EQ(bad.violations[0].arch, "sm_80");
  }
}

TEST_F(Policy, AViolationNamesTheLineOfTheKernelOrOfTheInstruction) {
  EXPECT_EQ(judged("max_registers = 1").violations.at(0).source_line, 9u);
  EXPECT_EQ(judged("max_registers = 1").violations.at(0).source_file, "k.cu");
  EXPECT_EQ(judged("forbidden_patterns = ['approx']").violations.at(0).source_line, 12u);
}

TEST_F(Policy, WithoutPtxasIsSaidAndNotPassedOver) {
  result_.metrics.compiled.clear();
  measured_.not_compiled["sm_80"] = "ptxas was not found";
  const LintResult result = judged("max_registers = 1\nmin_occupancy = 1");
  EXPECT_TRUE(result.passed);
  ASSERT_EQ(result.not_checked.size(), 1u);
  EXPECT_EQ(result.not_checked[0],
            "max_registers, max_spills, min_occupancy on sm_80: ptxas was not found");
}

TEST_F(Policy, WithoutAKnownOccupancyIsSaidToo) {
  result_.metrics.compiled[0].occupancy.reset();
  measured_.no_occupancy["sm_80"] = "no launch is known";
  EXPECT_EQ(judged("min_occupancy = 1").not_checked.at(0),
            "min_occupancy on sm_80: no launch is known");
}

TEST(PlainPolicy, JudgesTheNumbersThatExistingClientsKnow) {
  LintResult result;
  result.metrics = plain_metrics("\t.reg .f32 %f<80>;\n\tst.local.f32 [%rd1], %f1;\n");
  judge_plain(Config().limits_for(nullptr, ""), result);
  EXPECT_FALSE(result.passed);
  ASSERT_EQ(result.violations.size(), 2u);
  EXPECT_EQ(result.violations[0].kind, LintKind::ExcessiveRegisters);
  EXPECT_EQ(result.violations[0].actual, 80u);
  EXPECT_EQ(result.violations[0].threshold, 64u);
  EXPECT_EQ(result.violations[1].kind, LintKind::ExcessiveSpills);
}

}  // namespace
}  // namespace gpuemu
