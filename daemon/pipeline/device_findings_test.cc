#include "daemon/pipeline/device_findings.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

ExecutionReport report_of(const std::string& kind) {
  ExecutionReport report;
  report.device.push_back({.kind = kind, .message = "words", .file = "k.cu", .line = 7});
  return report;
}

struct Row {
  const char* device;
  FindingKind kind;
  bool ends_the_kernel;
};
class DeviceKinds : public ::testing::TestWithParam<Row> {};

TEST_P(DeviceKinds, HaveAFindingOfTheirOwnName) {
  const auto findings = findings_before_values(report_of(GetParam().device));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_STREQ(name_of(findings[0].kind), name_of(GetParam().kind));
  EXPECT_EQ(findings[0].message, "words");
  EXPECT_EQ(findings[0].source_line, 7u);
  EXPECT_EQ(outputs_are_void(findings), GetParam().ends_the_kernel);
}

TEST(Findings, ASecondWriteViolatesTheInvariantThatAskedForIt) {
  const auto findings = findings_before_values(report_of("written_twice"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingKind::InvariantViolation);
  EXPECT_EQ(findings[0].message, "invariant written_once: words");
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceKinds,
    ::testing::Values(Row{"out_of_bounds", FindingKind::OutOfBounds, false},
                      Row{"misaligned", FindingKind::Misaligned, false},
                      Row{"uninitialized", FindingKind::UninitializedRead, false},
                      Row{"division_by_zero", FindingKind::DivisionByZero, false},
                      Row{"race_shared", FindingKind::DataRace, false},
                      Row{"race_warp", FindingKind::DataRace, false},
                      Row{"race_global", FindingKind::DataRace, false},
                      Row{"race_async", FindingKind::DataRace, false},
                      Row{"barrier_divergence", FindingKind::BarrierDivergence, false},
                      Row{"illegal_mask", FindingKind::IllegalSync, false},
                      Row{"mbarrier", FindingKind::IllegalSync, false},
                      Row{"deadlock", FindingKind::Deadlock, true},
                      Row{"timeout", FindingKind::Timeout, true},
                      Row{"stack_overflow", FindingKind::StackOverflow, true},
                      Row{"illegal_address", FindingKind::DeviceFault, true},
                      Row{"invalid_free", FindingKind::DeviceFault, true},
                      Row{"invalid_texture", FindingKind::DeviceFault, true},
                      Row{"trap", FindingKind::Trap, true}, Row{"assert", FindingKind::Trap, true},
                      Row{"unsupported_instruction", FindingKind::UnsupportedInstruction, true}),
    [](const auto& row) { return std::string(row.param.device); });

TEST(Findings, ThePlaceOfAnInfinityExplainsOneAndIsNoneByItself) {
  const ExecutionReport report = report_of("nonfinite_inf");
  EXPECT_TRUE(findings_before_values(report).empty());
  std::vector<ValidationFailure> failures(2);
  failures[0] = {.kind = FindingKind::InfDetected, .message = "inf"};
  failures[1] = {.kind = FindingKind::NaNDetected, .message = "nan"};
  explain_values(failures, report);
  EXPECT_EQ(failures[0].message, "inf; words");
  EXPECT_EQ(failures[1].message, "nan");
}

TEST(Findings, AnOutputOfTheLaunchBeforeCountsOnlyWhereItsValuesAreWrong) {
  ExecutionReport report;
  report.harness.push_back({HarnessFinding::Kind::StaleOutput, "y", 0, 7, ""});
  EXPECT_TRUE(findings_before_values(report).empty());
  EXPECT_TRUE(findings_after_values(report).empty());
  EXPECT_FALSE(stale_output(report, "z"));
  const auto stale = stale_output(report, "y");
  ASSERT_TRUE(stale);
  EXPECT_EQ(stale->kind, FindingKind::StaleOutput);
  EXPECT_EQ(stale->output, "y");
  EXPECT_NE(stale->message.find("all 7 elements of output 'y'"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu
