#include "cli/findings/finding_blocks.h"

#include <gtest/gtest.h>

#include "common/base/files.h"
#include "common/protocol/findings.h"

namespace gpuemu::cli {
namespace {

ValidationResult failing(uint64_t seed, int64_t n, std::vector<ValidationFailure> findings) {
  ValidationResult result{.passed = false, .seed = seed, .op_name = "scale"};
  result.failures = std::move(findings);
  ReproductionInfo info;
  info.dims = {{"n", n}};
  info.value_strategy = "descend";
  result.repro_info = info;
  return result;
}

ValidationFailure out_of_bounds(uint32_t line) {
  return {.kind = FindingKind::OutOfBounds,
          .message =
              "reads 4 bytes at byte offset 4 of 'x', which has 4 bytes; thread (1,0,0) of "
              "block (0,0,0), /no/k.cu:7: ld.global.f32 %f1, [%rd1];",
          .source_file = "/no/k.cu",
          .source_line = line};
}

std::string blocks(const std::vector<ValidationResult>& results, BlockStyle style = {}) {
  OpFailures op{.failures = {}, .failed = results.size(), .cases = 64};
  for (const ValidationResult& one : results) op.failures.push_back(&one);
  return finding_blocks(op, style);
}

TEST(FindingBlocks, FindingsOfOneLineAreOneBlockOfTheSmallestCase) {
  EXPECT_EQ(blocks({failing(5, 300, {out_of_bounds(7)}), failing(66, 2, {out_of_bounds(7)})}),
            "error[OutOfBounds]: reads 4 bytes at byte offset 4 of 'x', which has 4 bytes\n"
            "  --> /no/k.cu:7\n"
            "   = case: n=2 values=descend, seed 66; 2 of 64 float32 cases fail here\n"
            "   = help: guard the access with a bounds check such as `if (i < n)`\n"
            "   = next: gpuemu minimize 66\n");
}

TEST(FindingBlocks, OtherLinesAreOtherBlocksAndCausesStandFirst) {
  const ValidationFailure wrong{.kind = FindingKind::ToleranceExceeded, .message = "element 3"};
  const std::string text = blocks({failing(1, 9, {wrong}), failing(2, 9, {out_of_bounds(7)}),
                                   failing(3, 9, {out_of_bounds(8), wrong})});
  const size_t first = text.find("k.cu:7\n"), second = text.find("k.cu:8\n"),
               values = text.find("error[ToleranceExceeded]");
  EXPECT_TRUE(first < second && second < values && values != text.npos) << text;
  EXPECT_NE(text.find("= next: gpuemu explain 1\n"), text.npos) << text;
}

TEST(FindingBlocks, WhatFollowsFromACauseIsOneLine) {
  const ValidationFailure wrong{.kind = FindingKind::ToleranceExceeded, .message = "element 3"};
  const std::string text = blocks({failing(3, 9, {out_of_bounds(8), wrong})});
  EXPECT_EQ(text.find("error[ToleranceExceeded]"), text.npos) << text;
  EXPECT_NE(text.find("note: the same cases also have ToleranceExceeded (1 case), which the above "
                      "can cause; fix it first\n"),
            text.npos)
      << text;
}

TEST(FindingBlocks, RacesNameTheSecondPlaceInTheExcerptAlone) {
  ValidationFailure race{.kind = FindingKind::DataRace,
                         .message =
                             "reads 'partial'[16] that lane 16 of the same warp wrote "
                             "(st.shared.f32 [%r1], %f1; at /no/k.cu:13) without "
                             "__syncwarp() in between; thread (0,0,0) of block (0,0,0), "
                             "/no/k.cu:15: ld.shared.f32",
                         .source_file = "/no/k.cu",
                         .source_line = 15};
  const std::string text = blocks({failing(3, 9, {race})});
  EXPECT_TRUE(
      text.starts_with("error[DataRace]: reads 'partial'[16] that lane 16 of the same warp "
                       "wrote without __syncwarp() in between\n"))
      << text;
}

TEST(FindingBlocks, LinesFitIntoTheTerminal) {
  const std::string text = blocks({failing(66, 2, {out_of_bounds(7)})}, {.columns = 60});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 60u) << line;
}

TEST(FindingBlocks, ReasonsAreOneLineUnlessDetailsAreAskedFor) {
  ValidationFailure wrong{.kind = FindingKind::ToleranceExceeded, .message = "element 3"};
  wrong.diagnosis = Diagnosis{ExplainVerdict::Logic,
                              "logic: the kernel computes a different formula; higher precision "
                              "would not help; vote: only the kernel is wrong",
                              {},
                              {}};
  const std::vector<ValidationResult> results = {failing(3, 9, {wrong})};
  EXPECT_NE(blocks(results, {.columns = 80})
                .find("   = why: logic: the kernel computes a different formula; ... (-v)\n"),
            std::string::npos)
      << blocks(results, {.columns = 80});
  EXPECT_NE(blocks(results, {.details = true}).find("only the kernel is wrong"), std::string::npos);
}

TEST(FindingTable, EachKindHasItsHeadingInTheDocumentation) {
  const auto page =
      read_file(std::string(GPUEMU_SOURCE_DIR) + "/docs/reference/findings.md", size_t{1} << 20);
  ASSERT_TRUE(page) << page.error().message;
  for (size_t i = 0; i < kFindingKindCount; ++i) {
    const std::string name = name_of(static_cast<FindingKind>(i));
    EXPECT_NE(page->find("\n### " + name + "\n"), std::string::npos) << name;
    EXPECT_FALSE(finding_info(static_cast<FindingKind>(i)).help.empty()) << name;
    EXPECT_EQ(finding_kind_from_name(name), static_cast<FindingKind>(i));
  }
  size_t headings = 0;
  for (size_t at = page->find("\n### "); at != page->npos; at = page->find("\n### ", at + 1)) {
    ++headings;
  }
  EXPECT_EQ(headings, kFindingKindCount)
      << "a heading in docs/reference/findings.md has no row in findings.def";
}

TEST(HelpOf, FitsWhatTheDiagnosisSays) {
  ValidationFailure wrong;
  wrong.kind = FindingKind::ToleranceExceeded;
  EXPECT_NE(help_of(wrong, nullptr).find("run `gpuemu explain`"), std::string::npos);
  Diagnosis diagnosis;
  diagnosis.verdict = ExplainVerdict::Logic;
  EXPECT_NE(help_of(wrong, &diagnosis).find("indices and masks"), std::string::npos);
  diagnosis.verdict = ExplainVerdict::Numerical;
  EXPECT_NE(help_of(wrong, &diagnosis).find("wider type"), std::string::npos);
  diagnosis.verdict = ExplainVerdict::Rounding;
  EXPECT_NE(help_of(wrong, &diagnosis).find("calibrate"), std::string::npos);
  diagnosis.verdict = ExplainVerdict::Unknown;
  EXPECT_EQ(help_of(wrong, &diagnosis), help_of(wrong, nullptr));
}

TEST(HelpOf, SearchesNoOverflowWhereAnInfinityIsLost) {
  ValidationFailure lost;
  lost.kind = FindingKind::InfDetected;
  lost.message = "inf_lost: element 0 [0, 0]: expected -inf, got -3.4e+38";
  EXPECT_NE(help_of(lost, nullptr).find("-FLT_MAX"), std::string::npos);
  EXPECT_NE(help_of(lost, nullptr).find("any value where the reference is not finite"),
            std::string::npos);
  lost.message = "inf_created: element 0 [0, 0]: expected 1, got inf";
  EXPECT_NE(help_of(lost, nullptr).find("overflow"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu::cli
