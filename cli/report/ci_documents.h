// Private to this folder: functions that each write one document of a CI run, and sentences that
// several of them share.
#pragma once

#include <string>

#include "cli/report/case_pictures.h"
#include "common/config/config.h"
#include "common/protocol/ci.gen.h"

namespace gpuemu::cli {

std::string ci_junit(const CiRunSummary& summary, const Config& config);
std::string ci_sarif(const CiRunSummary& summary, const Config& config);
std::string ci_comment(const CiRunSummary& summary, const Config& config);
std::string ci_html(const CiRunSummary& summary, const Config& config,
                    const CasePictures& pictures);
std::string ci_lcov(const CiRunSummary& summary, const Config& config);
std::string ci_codecov(const CiRunSummary& summary, const Config& config);

/// The reason why a kernel or op of the baseline is listed: ArtifactDiffSummary::missing.
inline constexpr const char* kMissing =
    "in the baseline, not in this run; `gpuemu baseline save` makes a new one";
/// Returns "gpuemu reproduce 17 --op gelu", to be pasted into a shell.
std::string replay_command(const ValidationResult& result);
/// Returns "registers on sm_80 40 -> 96" for everything that became worse.
std::string regression_text(const ArtifactDiff& diff);
std::string regression_text(const BaselineComparison& comparison);
/// Returns text such as "3 bad of 120" for the heading of a page.
std::string verdict_text(const CiRunSummary& summary);

}  // namespace gpuemu::cli
