// Tests the reports of lint and diff, also with hostile kernel names.
#include "cli/report/lint.h"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/report/diff.h"

namespace gpuemu::cli {
namespace {

LintResult measured() {
  LintResult result;
  result.kernel_name = "soft\x1b[31mmax\"<";
  result.source = "/p/kernels/my softmax.cu";
  CompiledMetrics compiled;
  compiled.arch = std::string("sm_80");
  compiled.registers = 40;
  result.metrics.compiled = {compiled};
  return result;
}

LintResult violating() {
  LintResult result = measured();
  result.passed = false;
  LintViolation violation;
  violation.message = std::string("40 registers\n[PASS] forged");
  violation.source_file = std::string("/p/kernels/my softmax.cu");
  violation.source_line = 12;
  violation.arch = std::string("sm_80");
  result.violations = {violation};
  return result;
}

std::string printed(const std::vector<LintResult>& results) {
  std::ostringstream out;
  print_lint(results, true, out);
  return out.str();
}

TEST(PrintLint, ShowsVerdictNumbersAndPlace) {
  const std::string text = printed({violating()});
  EXPECT_NE(text.find("[FAIL] soft"), std::string::npos) << text;
  EXPECT_NE(text.find("sm_80: 40 registers"), std::string::npos) << text;
  EXPECT_NE(text.find("at /p/kernels/my softmax.cu:12"), std::string::npos) << text;
  EXPECT_NE(text.find("0 within their limits, 1 not\n"), std::string::npos) << text;
}

TEST(PrintNewLimits, IsWhatGpuemuTomlTakes) {
  LintResult result = violating();
  result.kernel_name = "softmax";
  LintViolation& registers = result.violations[0];
  registers.check = std::string("max_registers");
  registers.actual = 40;
  registers.threshold = 32;
  result.violations.push_back(registers);
  result.violations[1].actual = 48;
  LintViolation occupancy;
  occupancy.kind = LintKind::LowOccupancy;
  occupancy.check = std::string("min_occupancy");
  occupancy.value = 0.3777;
  result.violations.push_back(occupancy);
  std::ostringstream out;
  print_new_limits({result, measured()}, out);
  EXPECT_EQ(out.str(),
            "\n# What softmax has, to accept it:\n[kernels.artifact_checks]\nmax_registers = 48\n"
            "min_occupancy = 0.37\n");
}

TEST(PrintLint, CallsFailedOnlyTheArchitectureThatIs) {
  LintResult result = violating();
  result.metrics.compiled.push_back(result.metrics.compiled[0]);
  result.metrics.compiled[1].arch = std::string("sm_90");
  const std::string text = printed({result});
  EXPECT_NE(text.find("[FAIL] soft [31mmax\"< sm_80"), std::string::npos) << text;
  EXPECT_NE(text.find("[PASS] soft [31mmax\"< sm_90"), std::string::npos) << text;
}

TEST(PrintLint, LetsNoTextForgeALineOrAColour) {
  const std::string text = printed({violating()});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\n[PASS] forged"), std::string::npos);
}

TEST(PrintLint, SaysEachMissingCheckOnce) {
  LintResult one = measured(), two = measured();
  one.not_checked = two.not_checked = {"min_occupancy on sm_80: no launch is known"};
  const std::string text = printed({one, two});
  EXPECT_NE(text.find("not checked for 2 kernels: min_occupancy on sm_80"), std::string::npos);
}

TEST(PrintLint, CallsNothingPassedThatWasNotMeasured) {
  LintResult broken;
  broken.kernel_name = std::string("k");
  broken.error = std::string("does not compile");
  LintResult empty;
  empty.kernel_name = std::string("e");
  const std::string text = printed({broken, empty});
  EXPECT_NE(text.find("[ERROR] k: does not compile"), std::string::npos);
  EXPECT_NE(text.find("[SKIP] e: not measured"), std::string::npos);
  EXPECT_NE(text.find("0 within their limits, 0 not, 1 skipped, 1 could not be measured"),
            std::string::npos);
}

TEST(LintSarif, HasAPlaceAndAFingerprintForEachResult) {
  LintResult broken = measured();
  broken.error = std::string("does not compile");
  broken.source = std::string("/elsewhere/k.cu");
  const auto document =
      nlohmann::json::parse(lint_sarif({violating(), broken, measured()}, nullptr, "/p"));
  const auto& results = document["runs"][0]["results"];
  ASSERT_EQ(results.size(), 2u);
  const auto& place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "kernels/my%20softmax.cu");
  EXPECT_EQ(place["region"]["startLine"], 12);
  EXPECT_EQ(results[0]["ruleId"], "lint/ExcessiveRegisters");
  EXPECT_TRUE(results[0]["partialFingerprints"].contains("kindAndKernel"));
  EXPECT_EQ(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "file:///elsewhere/k.cu");
  EXPECT_EQ(document["runs"][0]["tool"]["driver"]["rules"].size(), 2u);
}

TEST(BaselineFile, ReadsBackWhatItWrote) {
  BaselineReply baseline;
  baseline.tag = std::string("main");
  baseline.artifacts.push_back(measured().metrics);
  ValidationResult result;
  result.seed = UINT64_MAX;
  baseline.results.push_back(result);
  const auto again = read_baseline_file(baseline_file_text(baseline), "b.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, baseline);
}

TEST(BaselineFile, OfAnotherVersionIsRefusedByName) {
  BaselineReply baseline;
  baseline.schema_version = 7;
  const auto read = read_baseline_file(baseline_file_text(baseline), "b.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "b.json has schema version 7, this gpuemu reads 1; save it again with this version");
}

TEST(PrintComparison, ShowsGrowthInPerCent) {
  Comparison comparison{"main", ArtifactDiffSummary{}, std::nullopt};
  comparison.artifacts->baseline_tag = std::string("main");
  ArtifactDiff diff;
  diff.kernel_name = std::string("k");
  diff.changes = {{"registers", "sm_80", 40, 50, 25, MetricVerdict::Regression}};
  diff.is_regression = comparison.artifacts->has_regressions = true;
  comparison.artifacts->diffs = {diff};
  std::ostringstream out;
  print_comparison(comparison, out);
  EXPECT_NE(out.str().find("[regression] k: registers on sm_80 40 -> 50 (+25.0 %)"),
            std::string::npos)
      << out.str();
  const auto document = nlohmann::json::parse(comparison_json(comparison));
  EXPECT_EQ(document["has_regressions"], true);
  EXPECT_EQ(document["diffs"][0]["changes"][0]["percent"], 25);
}

}  // namespace
}  // namespace gpuemu::cli
