// Tests coverage of a kernel in every format.
#include "cli/report/kernel_coverage.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuemu::cli {
namespace {

/// Line 2 ran and never went to line 3, which never ran.
KernelCoverageReply relu() {
  KernelCoverageReply coverage;
  coverage.kernel = "relu";
  coverage.ops = {"relu"};
  coverage.seed = 7;
  coverage.cases = 12;
  coverage.replayed = 2;
  coverage.lines = {{"/p/k.cu", 2, 640}, {"/p/k.cu", 3, 0}};
  coverage.branches = {{"/p/k.cu", 2, 0, 0, 4, 640}, {"/p/k.cu", 2, 0, 1, 3, 0}};
  coverage.blocks = 2;
  coverage.blocks_total = 3;
  return coverage;
}
const Sources kSources = {{"/p/k.cu", {"// <relu>", "  if (x < 0)", "    y = 0;", "}"}}};

std::string rendered(const std::string& format) {
  Config config;
  config.folder = "/p";
  return kernel_coverage_text(relu(), config, kSources, format);
}

TEST(KernelCoverage, TextQuotesWhatNoCaseReached) {
  EXPECT_EQ(rendered("text"),
            "relu: 1 of 2 lines ran, 1 of 2 ways out of branches were taken, 2 of 3 blocks; 12 "
            "cases of relu (2 of the corpus), seed 7\n"
            "k.cu:2: never goes on at line 3 (y = 0;): if (x < 0)\n"
            "k.cu:3: never runs: y = 0;\n");
}

TEST(KernelCoverage, TextSaysOnceWhatSeveralBranchesOfALineMiss) {
  KernelCoverageReply coverage = relu();
  for (uint32_t branch = 1; branch < 4; ++branch) {
    coverage.branches.push_back({"/p/k.cu", 2, branch, 0, 4 - branch % 2, 0});
    coverage.branches.push_back({"/p/k.cu", 2, branch, 1, 2, 9});
  }
  Config config;
  config.folder = "/p";
  const std::string text = kernel_coverage_text(coverage, config, kSources, "text");
  const std::string line = "k.cu:2: never goes on at line 3";
  EXPECT_EQ(text.find(line), text.rfind(line)) << text;
  EXPECT_NE(text.find("k.cu:2: never goes on at line 4"), std::string::npos) << text;
}

TEST(KernelCoverage, LcovHasLinesAndBranches) {
  EXPECT_EQ(rendered("lcov"),
            "TN:gpuemu\nSF:k.cu\nBRDA:2,0,0,640\nBRDA:2,0,1,0\nDA:2,640\nDA:3,0\nBRF:2\nBRH:1\n"
            "LF:2\nLH:1\nend_of_record\n");
}

TEST(KernelCoverage, CodecovMarksPartialLines) {
  const auto made = nlohmann::json::parse(rendered("codecov"));
  EXPECT_EQ(made["coverage"]["k.cu"]["2"], "1/2");
  EXPECT_EQ(made["coverage"]["k.cu"]["3"], 0);
}

TEST(KernelCoverage, ThePageHasTheSourceEscaped) {
  const std::string html = rendered("html");
  EXPECT_NE(html.find("// &lt;relu&gt;"), std::string::npos);
  EXPECT_NE(html.find("<tr class=\"part\"><td class=\"n\">2</td>"), std::string::npos);
  EXPECT_NE(html.find("<tr class=\"never\"><td class=\"n\">3</td>"), std::string::npos);
  EXPECT_EQ(html.find("<relu>"), std::string::npos);
}

TEST(KernelCoverage, JsonIsTheReply) {
  const auto made = nlohmann::json::parse(rendered("json"));
  EXPECT_EQ(made["type"], "KernelCoverage");
  EXPECT_EQ(made["branches"][1]["to_line"], 3);
}

}  // namespace
}  // namespace gpuemu::cli
