// Tests that no document is broken by hostile names and messages, and that its counts are right.
#include "cli/report/ci_documents.h"

#include <limits>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/report/ci.h"
#include "cli/report/ci_formats.h"
#include "cli/report/escape.h"

namespace gpuemu::cli {
namespace {

const std::string kHostile =
    "a<b>&\"'`|]]>\x1b[31m\x01\xff\xc0\x80\nx @you #1 ![i](http://e) \xe2\x80\xae";

CiRunSummary hostile() {
  CiRunSummary summary;
  summary.profile = "quick";
  summary.device = kHostile;
  ValidationResult bad;
  bad.op_name = kHostile;
  bad.passed = false;
  bad.seed = std::numeric_limits<uint64_t>::max();
  bad.max_diff = std::numeric_limits<double>::infinity();
  bad.failures = {{.kind = FindingKind::NaNDetected, .message = kHostile}};
  ValidationResult good;
  good.op_name = "good";
  summary.validation_results = {bad, good};
  summary.ops = {{.op_name = kHostile, .cases = 1, .failed = 1},
                 {.op_name = "good", .cases = 1, .passed = 1},
                 {.op_name = "late", .error = kHostile},
                 {.op_name = "client", .skipped_reason = kHostile}};
  LintResult kernel;
  kernel.kernel_name = kHostile;
  kernel.passed = false;
  kernel.violations = {LintViolation{.kind = LintKind::ExcessiveRegisters, .message = kHostile}};
  summary.lint_results = {kernel};
  ArtifactDiff diff;
  diff.kernel_name = kHostile;
  diff.is_regression = true;
  diff.changes = {MetricChange{.metric = "registers",
                               .arch = "sm_80",
                               .before = 4,
                               .after = 8,
                               .percent = 100,
                               .verdict = MetricVerdict::Regression}};
  summary.artifact_diffs =
      ArtifactDiffSummary{.baseline_tag = kHostile, .has_regressions = true, .diffs = {diff}};
  summary.notes = {kHostile};
  summary.coverage = {{"/p/k.cu", 3, 7}, {"/p/k.cu", 4, 0}, {"/else/" + kHostile, 1, 1}};
  summary.total_tests = 4;
  summary.passed = 1;
  summary.failed = 2;
  ErrorMap map;
  map.op_name = map.output = kHostile;
  map.shape = {2, 2};
  map.rows = map.columns = 2;
  map.cells = {0, 1e-3, std::numeric_limits<double>::infinity(), 2};
  map.distribution = {{"0", 1}, {"1e-03", 1}, {"not finite", 1}, {"1e+00", 1}};
  summary.worst = map;
  return summary;
}

/// The failing case as the daemon runs it again.
CasePictures pictures() {
  ReproduceResultReply again;
  again.result = hostile().validation_results.front();
  again.inputs[kHostile] = Tensor{DType::Float32, {3}, std::vector<std::byte>(12)};
  again.inputs["empty"] = Tensor{DType::Float32, {0, 4}, {}};
  again.error_map = hostile().worst;
  return {{again}, kHostile};
}

Config project() {
  Config config;
  config.name = kHostile;
  config.file = "/p/gpuemu.toml";
  config.folder = "/p";
  return config;
}

bool has_control(const std::string& text) {
  return std::ranges::any_of(text, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte < 0x20 && letter != '\n' && letter != '\t') || byte == 0x7f;
  });
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Clean, LeavesValidTextAndReplacesTheRest) {
  EXPECT_EQ(clean("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\n\t"),
            "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\n\t");
  EXPECT_EQ(clean(std::string_view("\0\x1b\x7f", 3)), "   ");
  EXPECT_EQ(clean("\xc2\x85|\xe2\x80\xae|\xef\xbf\xbe"), " | | ");
  for (const char* invalid : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_NE(clean(invalid).find("\xef\xbf\xbd"), std::string::npos);
  }
}

TEST(Clipped, CutsBetweenCharacters) {
  EXPECT_EQ(clipped("abc", 3), "abc");
  EXPECT_EQ(clipped("a\xc3\xbc\x62", 2), "a...");
}

TEST(CiDocuments, HoldNoControlCharacterWhateverComesIn) {
  for (const std::string& format : ci_formats()) {
    const std::string text = render_ci(format, hostile(), project());
    EXPECT_FALSE(text.empty()) << format;
    EXPECT_FALSE(has_control(text)) << format;
  }
  EXPECT_FALSE(has_control(ci_html(hostile(), project(), pictures())));
}

TEST(Page, ShowsPicturesOfHostileCasesAsText) {
  const std::string page = ci_html(hostile(), project(), pictures());
  EXPECT_NE(page.find("<strong>Error of a&lt;b&gt;&amp;"), std::string::npos);
  EXPECT_NE(page.find("<strong>Input a&lt;b&gt;&amp;"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(count(page, "<figure>"), 3U) << "map, histogram, input; none of the empty one";
  EXPECT_EQ(count(page, "class=\"bound\""), 0U) << "the map has none";
}

TEST(Page, FillsBarsAsFarAsTheyShow) {
  CiRunSummary summary = hostile();
  summary.ops.front().cases = 25;
  const std::string page = ci_html(summary, project(), {});
  EXPECT_NE(page.find("class=\"share no\"><i style=\"width:4.0%\">"), std::string::npos);
}

TEST(Page, DrawsTheBoundWhereItLiesAmongTheDecades) {
  CiRunSummary summary = hostile();
  summary.worst->bound = 10;
  summary.worst->distribution = {{"1e+00", 4}, {"1e+01", 2}};
  const std::string page = ci_html(summary, project(), {});
  // Two bars of 48 pixels from x = 12: the second begins at the bound.
  EXPECT_NE(page.find("<path class=\"bound\" d=\"M60.0 4.0L60.0 144.0\"/>"), std::string::npos);
  EXPECT_NE(page.find("height=\"110.0\""), std::string::npos);
  EXPECT_NE(page.find("height=\"55.0\""), std::string::npos);
}

TEST(Page, DrawsCasesAsSharesOfWhatIsAllowed) {
  CiRunSummary summary = hostile();
  const CaseSample wrong{.elements = 64, .bound_ratio = 3, .values = kHostile, .passed = false};
  summary.ops.front().samples = {
      wrong, {.elements = 1, .bound_ratio = 0.5, .values = "unit", .passed = true}};
  const std::string page = ci_html(summary, project(), {});
  EXPECT_EQ(count(page, "<circle class=\"no\""), 2U);
  EXPECT_EQ(count(page, "<circle class=\"ok\""), 2U);
  EXPECT_NE(page.find("1 of 2 cases fail"), std::string::npos);
  EXPECT_NE(page.find(">unit 0/1<"), std::string::npos);
  EXPECT_FALSE(has_control(page));
}

TEST(CiDocuments, EscapeWhatWouldBeMarkup) {
  for (const char* format : {"junit", "html"}) {
    const std::string text = render_ci(format, hostile(), project());
    EXPECT_EQ(text.find("<b>"), std::string::npos) << format;
    EXPECT_NE(text.find("a&lt;b&gt;&amp;&quot;&#39;"), std::string::npos) << format;
  }
  EXPECT_EQ(ci_html(hostile(), project(), pictures()).find("<script"), std::string::npos);
  const std::string comment = ci_comment(hostile(), project());
  EXPECT_EQ(comment.find("@you"), std::string::npos);
  EXPECT_EQ(comment.find("](http"), std::string::npos);
  EXPECT_EQ(comment.find("<b>"), std::string::npos);
}

TEST(CiJunit, CountsTestsAndFailures) {
  const std::string xml = ci_junit(hostile(), project());
  EXPECT_NE(xml.find("name=\"gpuemu\" tests=\"6\" failures=\"4\""), std::string::npos) << xml;
  EXPECT_EQ(count(xml, "<testcase "), 6u);
  EXPECT_EQ(count(xml, "<failure "), 4u);
  EXPECT_EQ(count(xml, "<skipped "), 1u);
}

/// Three cases with one fault, of four.
CiRunSummary one_fault() {
  CiRunSummary summary;
  ValidationResult bad;
  bad.op_name = "scale";
  bad.passed = false;
  bad.failures = {{.kind = FindingKind::OutOfBounds, .message = "reads 4 bytes", .output = "y"}};
  summary.validation_results.assign(3, bad);
  summary.validation_results[1].failures[0].kind = FindingKind::DataRace;
  ValidationResult good;
  good.op_name = "scale";
  good.passed = true;
  summary.validation_results.push_back(good);
  summary.ops = {{.op_name = "scale", .cases = 4, .passed = 1, .failed = 3}};
  return summary;
}

TEST(CiJunit, HasATestForEachCaseThatCountsThoseOfItsFault) {
  const std::string xml = ci_junit(one_fault(), project());
  EXPECT_EQ(count(xml, "<testcase "), 4u) << xml;
  EXPECT_EQ(count(xml, "<failure "), 3u);
  EXPECT_EQ(count(xml, "2 of 4 cases have this fault"), 2u) << xml;
  EXPECT_EQ(count(xml, "2 of 4 cases have this fault, this is the smallest"), 1u) << xml;
  EXPECT_EQ(count(xml, "1 of 4 cases"), 1u) << xml;
}

TEST(CiSarif, HasOneResultForEachFaultWithItsCases) {
  const auto log = nlohmann::json::parse(ci_sarif(one_fault(), project()));
  const auto& results = log["runs"][0]["results"];
  ASSERT_EQ(results.size(), 2u);
  const std::string message = results[0]["message"]["text"];
  EXPECT_NE(message.find("scale: 2 of 4 cases"), std::string::npos) << message;
  EXPECT_EQ(results[0]["partialFingerprints"]["kindOpAndCode"], "OutOfBounds:scale:y");
  EXPECT_EQ(results[0]["partialFingerprints"]["kindAndOp"], "OutOfBounds:scale");
  EXPECT_FALSE(log["runs"][0]["tool"]["driver"]["rules"][0]["help"]["text"].empty());
}

TEST(CiSarif, HasOneResultPerFindingWithAPlaceAndEachRuleOnce) {
  const auto log = nlohmann::json::parse(ci_sarif(hostile(), project()));
  const auto& results = log["runs"][0]["results"];
  ASSERT_EQ(results.size(), 4u);
  for (const auto& one : results) {
    const auto& place = one["locations"][0]["physicalLocation"];
    EXPECT_EQ(place["artifactLocation"]["uri"], "gpuemu.toml");
    EXPECT_GE(place["region"]["startLine"], 1);
  }
  EXPECT_EQ(log["runs"][0]["tool"]["driver"]["rules"].size(), 4u);
  EXPECT_EQ(nlohmann::json::parse(ci_sarif({}, project()))["runs"][0]["results"].size(), 0u);
}

TEST(CiComment, StaysBelowWhatGitHubTakes) {
  CiRunSummary summary = hostile();
  summary.validation_results[0].op_name = std::string(5000, '|');
  summary.validation_results.resize(3000, summary.validation_results[0]);
  summary.lint_results[0].violations[0].message = std::string(90'000, '<');
  summary.lint_results.resize(300, summary.lint_results[0]);
  summary.notes.resize(5000, std::string(300, '@'));
  const std::string comment = ci_comment(summary, project());
  EXPECT_LT(comment.size(), 65'536u);
  EXPECT_NE(comment.find("## gpuemu: something could not be run"), std::string::npos);
}

TEST(CiCoverage, IsTheSameInBothForms) {
  const std::string lcov = ci_lcov(hostile(), project());
  EXPECT_NE(lcov.find("SF:k.cu\nDA:3,7\nDA:4,0\nLF:2\nLH:1\nend_of_record\n"), std::string::npos)
      << lcov;
  const auto codecov = nlohmann::json::parse(ci_codecov(hostile(), project()));
  EXPECT_EQ(codecov["coverage"]["k.cu"], (nlohmann::json{{"3", 7}, {"4", 0}}));
}

TEST(CiFormats, KnowTheSpellingsOfExistingTools) {
  for (const char* word : {"pr-comment", "pr_comment", "prcomment", "PR-Comment"}) {
    EXPECT_EQ(ci_format(word), "pr-comment") << word;
  }
  EXPECT_EQ(ci_format("XML"), "junit");
  EXPECT_FALSE(ci_format("yaml"));
}

TEST(CiVerdict, IsBrokenBeforeItIsBad) {
  CiRunSummary summary;
  EXPECT_EQ(verdict_of(summary), CiVerdict::Good);
  summary.artifact_diffs = ArtifactDiffSummary{.has_regressions = true};
  EXPECT_EQ(verdict_of(summary), CiVerdict::Findings);
  summary.regressions_pass = true;
  EXPECT_EQ(verdict_of(summary), CiVerdict::Good);
  summary.failed = 1;
  EXPECT_EQ(verdict_of(summary), CiVerdict::Findings);
  summary.ops = {{.op_name = "a", .error = "no compiler"}};
  EXPECT_EQ(verdict_of(summary), CiVerdict::Broken);
}

TEST(CiText, CountsOneInTheSingular) {
  CiRunSummary summary;
  summary.profile = "quick";
  summary.ops = {{.op_name = "gelu", .cases = 1, .passed = 1},
                 {.op_name = "relu", .cases = 1, .failed = 1}};
  ArtifactDiff diff;
  diff.kernel_name = "gelu";
  summary.artifact_diffs = ArtifactDiffSummary{.baseline_tag = "main", .diffs = {diff}};
  BaselineComparison worse;
  worse.op_name = "gelu";
  worse.is_regression = true;
  summary.result_diffs = {worse};
  summary.coverage = {{"/p/k.cu", 3, 7}};
  std::ostringstream out, err;
  print_ci(summary, false, {}, out, err);
  for (const char* words :
       {"[PASS] gelu float32 1 case,", ": 1 of 1 float32 case", "1 kernel compared",
        "1 case compared with baseline main: 1 regression\n", "covered 1 of 1 line of "}) {
    EXPECT_EQ(count(out.str(), words), 1u) << words << '\n' << out.str();
  }
}

TEST(CiPage, LeavesTheProjectsFolderInALongerPathAlone) {
  CiRunSummary summary = hostile();
  summary.validation_results.front().failures.front().message =
      "differs at /p/k.cu:3, (/p/k.cu:4) and /mnt/p/k.cu:5";
  const std::string page = ci_html(summary, project(), {});
  EXPECT_GE(count(page, "differs at k.cu:3, (k.cu:4) and /mnt/p/k.cu:5"), 1u);
}

}  // namespace
}  // namespace gpuemu::cli
