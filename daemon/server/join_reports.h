// Combines the reports of a run's pieces into the report of the run.
#pragma once

#include <string>
#include <vector>

#include "daemon/campaign/campaign.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

class Project;
struct Config;

/// Returns one report per op and dtype of the pieces, in the order of gpuemu.toml. The pieces of an
/// op and dtype must be in the order of their cases; `end` says why cases did not run. Keeps the
/// first failures and warnings.
std::vector<OpTestReport> join_reports(std::vector<OpTestReport> pieces, const Config& config,
                                       EarlyEnd end);

/// Returns the evidence of ranges of a guided run, one per dtype, in the order of the op's dtypes.
std::vector<Evidence> join_evidence(const std::vector<Evidence>& pieces, const OpConfig& op);

/// Returns the note of a fuzz run of which no case of the dtype ran.
std::string unsupported_note(DType dtype);

/// Fills in the rest of a test report: ops that had no cases although some were requested, the
/// causes of failures, and where they ran.
void finish_report(TestReportReply& report, bool wants_cases, Call& call, Project& project,
                   const JobControl& control);

}  // namespace gpuemu
