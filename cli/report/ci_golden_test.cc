// Compares every report of one run with tests/golden/reports. GPUEMU_GOLDEN_UPDATE=1 updates the
// files; their diff shows the effect of a change to a renderer.
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/report/ci.h"
#include "cli/report/ci_formats.h"
#include "cli/report/diff.h"
#include "cli/report/lint.h"
#include "cli/report/text.h"
#include "common/base/files.h"
#include "common/codec/json_codec.h"
#include "common/protocol/op_state.h"

namespace gpuemu::cli {
namespace {

constexpr size_t kGoldenBytesMax = 1 << 20;

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GPUEMU_SOURCE_DIR) + "/tests/golden/reports/" + name;
  if (std::getenv("GPUEMU_GOLDEN_UPDATE") != nullptr) {
    ASSERT_TRUE(write_file(path, text)) << path;
    return;
  }
  const auto golden = read_file(path, kGoldenBytesMax);
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(text, *golden) << path << "; GPUEMU_GOLDEN_UPDATE=1 writes it anew";
}

ValidationResult failed_case() {
  ValidationResult bad;
  bad.op_name = "softmax";
  bad.seed = 5148731190416832423U;
  bad.passed = false;
  bad.max_diff = 0.5;
  bad.max_rel_diff = 1;
  bad.timestamp = 1'790'000'000;
  bad.duration_ms = 12;
  bad.failures = {{.kind = FindingKind::ToleranceExceeded,
                   .message = "element 17: expected 0.5, got 0",
                   .index = 17,
                   .expected = 0.5,
                   .actual = 0.0,
                   .output = "y",
                   .source_file = "/p/kernels/softmax.cu",
                   .source_line = 12}};
  ReproductionInfo& info = bad.repro_info.emplace();
  info.seed = bad.seed;
  info.shape = {2, 64};
  info.strides = {64, 1};
  info.base_seed = 1;
  info.iteration = 9;
  info.dims = {{"cols", 64}, {"rows", 2}};
  info.value_strategy = "large";
  info.kernel = "softmax";
  bad.error_stats = ErrorStats{.count = 128, .num_exceeding = 3, .max_abs = 0.5, .max_rel = 1};
  return bad;
}

ArtifactMetrics metrics(const std::string& name, uint32_t registers) {
  ArtifactMetrics one;
  one.kernel_name = name;
  one.register_count = 20;
  one.instruction_count = 40;
  one.shared_memory_bytes = 256;
  one.timestamp = 1'790'000'000;
  one.source = ArtifactSource::Both;
  PtxMetrics& ptx = one.ptx.emplace();
  ptx.entry = name;
  ptx.target = "sm_80";
  ptx.source_file = "/p/kernels/" + name + ".cu";
  ptx.source_line = 7;
  ptx.instructions = 40;
  ptx.registers = {{"b32", 12}, {"f32", 8}};
  ptx.loops = 1;
  CompiledMetrics& made = one.compiled.emplace_back();
  made.arch = "sm_80";
  made.registers = registers;
  made.shared_bytes = 256;
  made.occupancy = Occupancy{.threads = 256,
                             .blocks = 2,
                             .warps = 16,
                             .warps_max = 64,
                             .fraction = 0.25,
                             .limiter = OccupancyLimiter::Registers};
  made.sass_instructions = 96;
  made.sass_classes = {{"control", 4}, {"float", 60}, {"global", 32}};
  made.sass_control = {{"branches", 2}, {"exits", 2}, {"loops", 1}, {"predicated exits", 1}};
  return one;
}

LintResult measured(const std::string& name, uint32_t registers) {
  LintResult one;
  one.kernel_name = name;
  one.source = "/p/kernels/" + name + ".cu";
  one.metrics = metrics(name, registers);
  one.timestamp = 1'790'000'000;
  one.not_checked = {"min_occupancy on sm_90: no launch is known"};
  return one;
}

LintResult beyond() {
  LintResult one = measured("softmax", 96);
  one.passed = false;
  one.violations = {{.kind = LintKind::ExcessiveRegisters,
                     .message = "softmax on sm_80: 96 registers per thread, the limit is 64 "
                                "(max_registers)",
                     .actual = 96,
                     .threshold = 64,
                     .check = "max_registers",
                     .arch = "sm_80",
                     .value = 96,
                     .limit = 64,
                     .source_file = "/p/kernels/softmax.cu",
                     .source_line = 7}};
  return one;
}

ArtifactDiffSummary since_main() {
  ArtifactDiff diff;
  diff.kernel_name = "softmax";
  diff.baseline = metrics("softmax", 40);
  diff.current = metrics("softmax", 96);
  diff.is_regression = true;
  diff.changes = {{.metric = "registers",
                   .arch = "sm_80",
                   .before = 40,
                   .after = 96,
                   .percent = 140,
                   .verdict = MetricVerdict::Regression},
                  {.metric = "instructions",
                   .before = 44,
                   .after = 40,
                   .percent = -9.0909090909090917,
                   .verdict = MetricVerdict::Improvement}};
  diff.constants = {"0.5 is gone", "0.25 is new"};
  return {.baseline_tag = "main", .has_regressions = true, .diffs = {diff}, .missing = {"retired"}};
}

Evidence evidence(uint64_t telling) {
  return {.judged = 64,
          .telling = telling,
          .trivial = {{"zeros", 64 - telling}},
          .failure_limit = telling > 0 ? 3.0 / static_cast<double>(telling) : 1.0};
}

CiRunSummary a_run() {
  CiRunSummary run;
  run.profile = "quick";
  run.seed = 1;
  run.backend = "emulator";
  run.device = "gpuemu emulator (AVX2)";
  run.timestamp = 1'790'000'000;
  run.duration_ms = 3125;
  run.validation_results = {failed_case()};
  run.ops = {
      {.op_name = "gelu",
       .kernel = "gelu",
       .cases = 64,
       .passed = 64,
       .replayed = 3,
       .bound_ratio_max = 0.25,
       .file = "/p/gpuemu.toml",
       .line = 3,
       .evidence = evidence(60)},
      {.op_name = "softmax",
       .kernel = "softmax",
       .cases = 64,
       .passed = 63,
       .failed = 1,
       .max_diff = 0.5,
       .bound_ratio_max = 1e6,
       .file = "/p/gpuemu.toml",
       .line = 9},
      {.op_name = "kept", .cases = 64, .passed = 64, .cached = true, .evidence = evidence(0)},
      {.op_name = "client", .skipped_reason = "runs in the client"},
      {.op_name = "lost", .error = "reference lost.py: no such file", .line = 20}};
  LintResult broken;
  broken.kernel_name = "torn";
  broken.passed = false;
  broken.error = "torn.ptx:3:1: expected a directive";
  run.lint_results = {measured("gelu", 32), beyond(), broken};
  run.kernels_cached = 1;
  run.artifact_diffs = since_main();
  run.result_diffs = {{.op_name = "softmax",
                       .seed = 5148731190416832423U,
                       .current_max_diff = 0.5,
                       .baseline_max_diff = 0.0,
                       .current_passed = false,
                       .baseline_passed = true,
                       .relative_change = 5e14,
                       .is_regression = true}};
  run.notes = {"softmax: 1 stored cases do not fit its dims any more"};
  run.coverage = {{"/p/kernels/softmax.cu", 7, 256}, {"/p/kernels/softmax.cu", 9, 0}};
  run.worst = ErrorMap{.op_name = "softmax",
                       .output = "y",
                       .seed = 5148731190416832423U,
                       .shape = {2, 64},
                       .rows = 1,
                       .columns = 2,
                       .cells = {0, 0.5},
                       .distribution = {{"0", 125}, {"1e-01", 3}}};
  run.trends = {{"gelu",
                 "sm_80",
                 {{.timestamp = 1'700'000'000, .label = "main", .registers = 32},
                  {.timestamp = 1'790'000'000, .label = "", .registers = 32}}},
                {"softmax",
                 "sm_80",
                 {{.timestamp = 1'700'000'000, .label = "main", .registers = 40},
                  {.timestamp = 1'750'000'000, .label = "", .registers = 44, .instructions = 90},
                  {.timestamp = 1'790'000'000, .label = "", .registers = 96}}}};
  run.total_tests = 195;
  run.passed = 192;
  run.failed = 3;
  run.skipped = 1;
  return run;
}

Config project() {
  Config config;
  config.name = "shop";
  config.file = "/p/gpuemu.toml";
  config.folder = "/p";
  return config;
}

TEST(GoldenReports, OfACiRunInEveryFormat) {
  for (const std::string& format : ci_formats()) {
    SCOPED_TRACE(format);
    expect_golden("ci." + format, render_ci(format, a_run(), project()));
  }
}

TEST(GoldenReports, OfLintAsTextAndJsonAndSarif) {
  std::ostringstream text, details;
  print_lint(a_run().lint_results, false, text);
  print_lint(a_run().lint_results, true, details);
  expect_golden("lint.text", text.str());
  expect_golden("lint.verbose", details.str());
  expect_golden("lint.json", encode_lint_results(a_run().lint_results) + "\n");
  const Config config = project();
  expect_golden("lint.sarif", lint_sarif(a_run().lint_results, &config, "/p") + "\n");
}

TEST(GoldenReports, OfADiff) {
  std::ostringstream text;
  print_comparison({"main", since_main(), std::nullopt}, text);
  expect_golden("diff.text", text.str());
}

TEST(GoldenReports, OfATestRun) {
  TestReportReply report;
  report.seed = 1;
  report.device = "gpuemu emulator (AVX2)";
  report.backend = "emulator";
  OpTestReport good;
  good.op_name = "gelu";
  good.cases = good.passed = 64;
  good.bound_ratio_max = 0.25;
  good.cases_per_second = 1200;
  good.evidence = evidence(60);
  OpTestReport bad;
  bad.op_name = "softmax";
  bad.cases = 64;
  bad.failed = 1;
  bad.failures = {failed_case()};
  OpTestReport broken;
  broken.op_name = "lost";
  set_op_state(broken, OpState::Broken, "reference lost.py: no such file");
  report.ops = {good, bad, broken};
  report.total = 128;
  report.duration_ms = 250;
  std::ostringstream out, err;
  print_test_report(report, {}, out, err);
  expect_golden("test.text", out.str());
  expect_golden("test.stderr", err.str());
}

}  // namespace
}  // namespace gpuemu::cli
