// Reports of pieces of one run as the report of that run.
#pragma once

#include <vector>

#include "daemon/campaign/campaign.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

class Project;
struct Config;

/// One report for each op and dtype that the pieces have, in the order of gpuemu.toml. The pieces
/// of an op and dtype are in the order of their cases; `end` says why cases did not run. The
/// failures and warnings are the first ones.
std::vector<OpTestReport> join_reports(std::vector<OpTestReport> pieces, const Config& config,
                                       EarlyEnd end);

/// The evidence of ranges of a guided run, one for each dtype, in the order of the op's.
std::vector<Evidence> join_evidence(const std::vector<Evidence>& pieces, const OpConfig& op);

/// What a report of tests says beside counts: which ops had no cases although some were asked for,
/// what the failures come from, and where they ran.
void finish_report(TestReportReply& report, bool wants_cases, Call& call, Project& project,
                   const JobControl& control);

}  // namespace gpuemu
