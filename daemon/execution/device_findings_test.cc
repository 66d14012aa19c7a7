#include "daemon/execution/device_findings.h"

#include <gtest/gtest.h>

#include "daemon/executor/plan.h"

namespace gpuemu {
namespace {

ExecutionReport report_of(DeviceFindingKind kind) {
  ExecutionReport report;
  report.device.push_back({.kind = kind, .message = "words", .file = "k.cu", .line = 7});
  return report;
}

struct Row {
  DeviceFindingKind device;
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

TEST(Findings, WhatWasNotCheckedIsARemarkAndNoFinding) {
  ExecutionReport report;
  report.device = {unchecked(DeviceFindingKind::UncheckedTensor, "k", "x", 481),
                   unchecked(DeviceFindingKind::UncheckedTensor, "k", "y", 481)};
  EXPECT_TRUE(findings_before_values(report).empty());
  EXPECT_EQ(unchecked_parts(report).size(), 2u);
  EXPECT_TRUE(unchecked_parts(report).begin()->starts_with("races in 'x' were not looked for"));
  EXPECT_TRUE(unchecked_parts(report_of(DeviceFindingKind::NonfiniteNan)).empty());
}

TEST(Findings, ASecondWriteViolatesTheInvariantThatAskedForIt) {
  const auto findings = findings_before_values(report_of(DeviceFindingKind::WrittenTwice));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingKind::InvariantViolation);
  EXPECT_EQ(findings[0].message, "invariant written_once: words");
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceKinds,
    ::testing::Values(
        Row{DeviceFindingKind::OutOfBounds, FindingKind::OutOfBounds, false},
        Row{DeviceFindingKind::Misaligned, FindingKind::Misaligned, false},
        Row{DeviceFindingKind::Uninitialized, FindingKind::UninitializedRead, false},
        Row{DeviceFindingKind::DivisionByZero, FindingKind::DivisionByZero, false},
        Row{DeviceFindingKind::RaceShared, FindingKind::DataRace, false},
        Row{DeviceFindingKind::RaceWarp, FindingKind::DataRace, false},
        Row{DeviceFindingKind::RaceGlobal, FindingKind::DataRace, false},
        Row{DeviceFindingKind::RaceAsync, FindingKind::DataRace, false},
        Row{DeviceFindingKind::BarrierDivergence, FindingKind::BarrierDivergence, false},
        Row{DeviceFindingKind::IllegalMask, FindingKind::IllegalSync, false},
        Row{DeviceFindingKind::Mbarrier, FindingKind::IllegalSync, false},
        Row{DeviceFindingKind::Deadlock, FindingKind::Deadlock, true},
        Row{DeviceFindingKind::Timeout, FindingKind::Timeout, true},
        Row{DeviceFindingKind::StackOverflow, FindingKind::StackOverflow, true},
        Row{DeviceFindingKind::IllegalAddress, FindingKind::DeviceFault, true},
        Row{DeviceFindingKind::InvalidFree, FindingKind::DeviceFault, true},
        Row{DeviceFindingKind::InvalidTexture, FindingKind::DeviceFault, true},
        Row{DeviceFindingKind::InvalidMetadata, FindingKind::DeviceFault, true},
        Row{DeviceFindingKind::Trap, FindingKind::Trap, true},
        Row{DeviceFindingKind::Assert, FindingKind::Trap, true},
        Row{DeviceFindingKind::UnsupportedInstruction, FindingKind::UnsupportedInstruction, true}),
    [](const auto& row) { return std::string(name_of(row.param.device)); });

TEST(Findings, ThePlaceOfAnInfinityExplainsOneAndIsNoneByItself) {
  const ExecutionReport report = report_of(DeviceFindingKind::NonfiniteInf);
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
