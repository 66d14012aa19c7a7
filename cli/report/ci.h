// A CI run as text, JSON and the documents that CI systems read.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/report/text.h"
#include "common/protocol/ci.h"

namespace gpuemu::cli {

/// The profile of a summary that was put together from stored results.
inline constexpr const char* kStored = "stored";

enum class CiVerdict { Good, Findings, Broken };
/// Broken where something could not be run or measured, whatever else was found.
CiVerdict verdict_of(const CiRunSummary& summary);

/// One line per op and dtype, the kernels, what changed since the baseline, then the counts. Lines
/// that report something bad go to `err` as well.
void print_ci(const CiRunSummary& summary, bool details, const ReportStyle& style,
              std::ostream& out, std::ostream& err);

/// The summary alone, indented.
std::string ci_json(const CiRunSummary& summary);

/// What ran: "profile quick shard 2/8, base seed 7, emulator: ..."; of stored results that they
/// are.
std::string origin_of(const CiRunSummary& summary);

/// The first failing case of an op in one dtype; null when none is listed.
const ValidationResult* first_failure(const CiRunSummary& summary, const CiOp& op);

}  // namespace gpuemu::cli
