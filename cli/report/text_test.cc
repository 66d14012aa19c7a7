// Tests the lines that editors parse with regular expressions, and messages with script output.
#include "cli/report/text.h"

#include <sstream>

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "cli/report/config_json.h"
#include "common/protocol/op_state.h"

namespace gpuemu::cli {
namespace {

ValidationResult failed_case(const std::string& message) {
  ValidationResult result;
  result.passed = false;
  result.seed = 5148731190416832423U;
  result.op_name = "softmax";
  result.max_diff = 0.5;
  result.failures.push_back({.kind = FindingKind::ToleranceExceeded, .message = message});
  ReproductionInfo info;
  info.shape = {2, 64};
  info.dims = {{"cols", 64}, {"rows", 2}};
  result.repro_info = info;
  return result;
}

OpTestReport op_report(const std::string& name, uint64_t failed) {
  OpTestReport op;
  op.op_name = name;
  op.cases = 64;
  op.failed = failed;
  op.passed = 64 - failed;
  if (failed > 0) op.failures.push_back(failed_case("element 0: expected 1, got 2"));
  return op;
}

struct Printed {
  std::string out, err;
};

Printed print(const TestReportReply& report) {
  std::ostringstream out, err;
  print_test_report(report, {}, out, err);
  return {out.str(), err.str()};
}

TEST(ProofLine, SaysWhatPassingProvesWithoutTheWordsOfFailures) {
  Evidence evidence;
  evidence.judged = 64;
  evidence.telling = 60;
  evidence.exact = 5;
  evidence.trivial = {{"row_mean", 4}, {"zeros", 3}};
  evidence.failure_limit = 0.05;
  EXPECT_EQ(evidence_line(evidence),
            "    evidence: 60 of 64 passing cases would have caught a kernel that writes zeros, "
            "copies its "
            "input or writes row means (accepted: row_mean 4, zeros 3); 5 allow no error; 95 % "
            "confidence "
            "that under 5 % of cases like these fail\n");
  evidence.failure_limit = 0.5;
  EXPECT_TRUE(RE2::PartialMatch(evidence_line(evidence), "under 50 %"));
  evidence.failure_limit = 0.51;
  EXPECT_FALSE(RE2::PartialMatch(evidence_line(evidence), "confidence")) << evidence_line(evidence);
  evidence.telling = 0;
  EXPECT_TRUE(RE2::PartialMatch(evidence_line(evidence), "evidence: none: "));
  EXPECT_FALSE(RE2::PartialMatch(evidence_line(evidence), "FAIL|failed|confidence"));
}

TEST(TestReport, CountsOneCaseInTheSingular) {
  TestReportReply report;
  report.ops = {op_report("gelu", 0), op_report("relu", 1)};
  for (OpTestReport& op : report.ops) op.cases = 1;
  report.ops[0].evidence = Evidence{.judged = 1, .telling = 1};
  report.total = 1;
  const Printed printed = print(report);
  EXPECT_TRUE(RE2::PartialMatch(printed.out, "PASS. gelu float32 1 case, ")) << printed.out;
  EXPECT_TRUE(RE2::PartialMatch(printed.out, "1 of 1 passing case would")) << printed.out;
  EXPECT_TRUE(RE2::PartialMatch(printed.out, ": 1 of 1 float32 case; ")) << printed.out;
  EXPECT_TRUE(RE2::PartialMatch(printed.out, "; 1 case in ")) << printed.out;
  EXPECT_FALSE(RE2::PartialMatch(printed.out, R"(\b1 (\w+ )?cases)")) << printed.out;
}

TEST(TestReport, TheProofFollowsTheLineOfItsOp) {
  TestReportReply report;
  report.ops = {op_report("gelu", 0), op_report("relu", 2)};
  for (OpTestReport& op : report.ops) op.evidence = Evidence{.judged = 64, .telling = 64};
  const Printed printed = print(report);
  EXPECT_TRUE(RE2::PartialMatch(printed.out,
                                "PASS. gelu .*\n    evidence: .*\n.FAIL. relu .*\n    evidence: "))
      << printed.out;
  EXPECT_FALSE(RE2::PartialMatch(printed.err, "evidence"));
}

TEST(TestReport, AReasonFollowsTheLineOfItsOp) {
  TestReportReply report;
  report.ops = {op_report("relu", 2)};
  ValidationResult& first = report.ops[0].failures.front();
  first.failures.front().diagnosis = Diagnosis{.verdict = ExplainVerdict::Logic,
                                               .note = "logic: another\nformula",
                                               .divergence = {},
                                               .disagreement = {}};
  const Printed printed = print(report);
  EXPECT_TRUE(RE2::PartialMatch(
      printed.out, "FAIL. relu .*\n    why \\d+ .ToleranceExceeded.: logic: another formula\n"))
      << printed.out;
  EXPECT_EQ(printed.err.find("why"), std::string::npos);
}

TEST(TestReport, SaysInWhichSettingsPassingCasesFail) {
  TestReportReply report;
  report.ops = {op_report("gelu", 0)};
  report.ops[0].fragile_checked = 64;
  EXPECT_NE(print(report).out.find("    fragile: none of 64 passing cases\n"), std::string::npos);
  const FragileCase one{7, "contraction always", "[ToleranceExceeded] off", {}};
  FragileCase other = one;
  other.setting = "order reverse";
  report.ops[0].fragile = {one, one, other};
  const std::string out = print(report).out;
  EXPECT_NE(out.find("with contraction always 2 of 64 passing cases are wrong, the first is 7: "
                     "[ToleranceExceeded] off\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("with order reverse 1 of 64 passing cases is wrong"), std::string::npos);
}

TEST(FailureLine, GivesAnEditorSeedOpKindDtypeShapeAndDifference) {
  const std::string line = failure_line(failed_case("element 17 [0, 17]: expected 0.5, got 0"));
  std::string seed, op, rest;
  ASSERT_TRUE(RE2::FullMatch(line, R"((\d+)\s+(\S+)\s+(.+))", &seed, &op, &rest));
  EXPECT_EQ(seed, "5148731190416832423");
  EXPECT_EQ(op, "softmax");
  const auto first = [&](const char* pattern) {
    std::string match;
    return RE2::PartialMatch(rest, pattern, &match) ? match : "";
  };
  EXPECT_EQ(first(R"(\[(\w+)\])"), "ToleranceExceeded");
  EXPECT_EQ(first(R"(dtype:\s*(\S+))"), "float32");
  EXPECT_EQ(first(R"(shape:\s*\[([^\]]+)\])"), "2, 64");
  EXPECT_EQ(first(R"(max_diff:\s*([\d.eE+-]+))"), "5.000e-01");
  EXPECT_EQ(first(R"(seed:\s*(\d+))"), "5148731190416832423");
}

TEST(FailureLine, StaysOneLineWhateverAScriptPrinted) {
  const std::string line = failure_line(failed_case("Traceback\n  \x1b[31mred\r\n\tend"));
  EXPECT_EQ(line.find_first_of("\n\r\t\x1b"), std::string::npos) << line;
}

TEST(Report, CountsWhatPassedWithoutAReference) {
  TestReportReply report;
  report.ops = {op_report("gelu", 0), op_report("relu", 0), op_report("silu", 2)};
  report.ops[1].no_reference = report.ops[2].no_reference = true;
  const Printed printed = print(report);
  EXPECT_NE(printed.out.find("2 passed (1 without a reference), 1 failing; "), std::string::npos)
      << printed.out;
}

TEST(Report, MatchesTheProblemMatcherAndRepeatsOnlyFailuresOnTheErrorStream) {
  TestReportReply report;
  report.ops = {op_report("gelu", 0), op_report("relu", 3)};
  report.total = 128;
  const Printed printed = print(report);
  const std::string failing = printed.err.substr(0, printed.err.find('\n'));
  std::string op;
  ASSERT_TRUE(RE2::FullMatch(failing, R"(\[FAIL\]\s+(\S+)\s+\(seed:\s*\d+\):\s+.+)", &op));
  EXPECT_EQ(op, "relu");
  EXPECT_NE(printed.out.find(failing), std::string::npos);
  EXPECT_NE(printed.out.find("[PASS] gelu float32 64 cases"), std::string::npos);
  EXPECT_EQ(printed.err.find("gelu"), std::string::npos);
  EXPECT_NE(printed.out.find("1 passed, 1 failing; 128 cases"), std::string::npos);
}

TEST(Report, SummaryLinesHaveNoWordThatMarksAnOpAsFailed) {
  TestReportReply report;
  report.ops = {op_report("a", 3)};
  const std::string out = print(report).out;
  const std::string summary = out.substr(out.find('\n') + 1);
  EXPECT_EQ(summary.find("FAIL"), std::string::npos);
  EXPECT_EQ(summary.find("failed"), std::string::npos);
}

TEST(Report, TellsAnOpThatCannotRunFromOneThatIsSkipped) {
  TestReportReply report;
  report.ops = {op_report("axpy", 0), op_report("norm", 0)};
  set_op_state(report.ops[0], OpState::Broken, "axpy.cu(3): error: identifier \"z\" is undefined");
  set_op_state(report.ops[1], OpState::RunsInClient, "runs in the client");
  const Printed printed = print(report);
  EXPECT_EQ(printed.err,
            "[ERROR] axpy float32: axpy.cu(3): error: identifier \"z\" is undefined\n");
  EXPECT_NE(printed.out.find("[SKIP] norm float32: runs in the client\n"), std::string::npos);
  EXPECT_NE(printed.out.find("0 passed, 1 skipped, 1 not run"), std::string::npos);
  EXPECT_TRUE(has_broken_op(report));
}

TEST(ProfileTable, ShowsTheBusiestLineFirstAndLeavesOutThoseThatDidNotRun) {
  const LineProfile store{.file = "k.cu",
                          .line = 7,
                          .thread_instructions = 64,
                          .warp_instructions = 4,
                          .global_requests = 2,
                          .global_bytes = 256,
                          .global_sectors = 16};
  const LineProfile tile{.file = "k.cu",
                         .line = 9,
                         .thread_instructions = 320,
                         .warp_instructions = 10,
                         .divergent_branches = 3,
                         .shared_requests = 2,
                         .shared_wavefronts = 64,
                         .bank_conflicts = 62};
  std::ostringstream out;
  print_profile({store, {.file = "k.cu", .line = 8}, tile}, out);
  EXPECT_EQ(
      out.str(),
      "  instructions  lanes divergent  sectors/req  coalesced   passes/req conflicts  line\n"
      "           320 100.0%         3            -          -         32.0        62  k.cu:9\n"
      "            64  50.0%         0          8.0      50.0%            -         0  k.cu:7\n");
}

TEST(TestReport, SaysWhatAVerdictWithoutAReferenceRestsOn) {
  TestReportReply report;
  OpTestReport op{.op_name = "softmax", .cases = 24, .passed = 24};
  op.no_reference = true;
  op.notes = {"no reference was compared; judged by odd"};
  op.relations = {{"odd", 24}, {"row_independent", 20}};
  report.ops = {op};
  std::ostringstream out, err;
  print_test_report(report, {}, out, err);
  const std::string expected =
      "[PASS] softmax float32 24 cases, no reference, 0 cases/s\n"
      "       no reference was compared; judged by odd\n"
      "       relations, by cases: odd 24, row_independent 20\n";
  EXPECT_EQ(out.str().substr(0, expected.size()), expected);
  EXPECT_EQ(err.str(), "");
}

TEST(Case, SaysThatAnErrorIsNotFiniteInsteadOfPrintingTheLargestInteger) {
  ValidationResult result = failed_case("nan_lost");
  ErrorStats stats;
  stats.count = 4;
  stats.num_exceeding = 1;
  stats.max_abs = std::numeric_limits<double>::infinity();
  stats.max_ulp = std::numeric_limits<uint64_t>::max();
  result.error_stats = stats;
  std::ostringstream out;
  print_case(result, out);
  EXPECT_NE(out.str().find("1 of 4 elements exceed, the largest is not finite"), std::string::npos);
  EXPECT_EQ(out.str().find("18446744073709551615"), std::string::npos);
  EXPECT_NE(out.str().find("cols=64 rows=2"), std::string::npos);
}

TEST(ConfigJson, HasEveryMemberAndSurvivesBytesThatAreNotUtf8) {
  ConfigResult loaded;
  loaded.problems = {
      {.file = "gpuemu.toml", .line = 3, .column = 7, .key = "ops", .message = "\xff"}};
  const std::string json = problems_json(loaded);
  for (const char* member : {"\"file\"", "\"line\": 3", "\"column\": 7", "\"end_line\": 3",
                             "\"end_column\": 8", "\"key\"", "\"message\"", "\"warnings\": []"}) {
    EXPECT_NE(json.find(member), std::string::npos) << member;
  }
}

TEST(FailLine, NamesTheValuesOfACaseUnlessTheyAreOrdinary) {
  TestReportReply report;
  report.ops = {op_report("softmax", 3)};
  auto& info = *report.ops.front().failures.front().repro_info;
  info.value_strategy = "one_nan";
  const Printed special = print(report);
  EXPECT_TRUE(RE2::PartialMatch(
      special.out, R"((?m)^\[FAIL\] softmax .*; case: cols=64 rows=2 values=one_nan$)"))
      << special.out;
  EXPECT_NE(special.err.find("values=one_nan"), std::string::npos);
  for (const char* const ordinary : {"bits_uniform", "uniform10"}) {
    info.value_strategy = ordinary;
    EXPECT_EQ(print(report).out.find("values="), std::string::npos) << ordinary;
  }
}

}  // namespace
}  // namespace gpuemu::cli
