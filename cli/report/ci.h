// Prints a CI run as text, as JSON and as documents that CI systems read.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/report/text.h"
#include "common/protocol/ci.gen.h"

namespace gpuemu::cli {

/// The profile of a summary that was compiled from stored results.
inline constexpr const char* kStored = "stored";

enum class CiVerdict { Good, Findings, Broken };
/// Returns Broken if anything could not be run or measured, whatever else was found.
CiVerdict verdict_of(const CiRunSummary& summary);

/// Prints one line per op and dtype, the kernels, the changes since the baseline, then the counts.
/// Lines that report a problem go to `err` as well.
void print_ci(const CiRunSummary& summary, bool details, const ReportStyle& style,
              std::ostream& out, std::ostream& err);

/// Returns only the summary, indented.
std::string ci_json(const CiRunSummary& summary);

/// Describes what ran: "profile quick shard 2/8, base seed 7, emulator: ..."; for stored results,
/// states that they are stored.
std::string origin_of(const CiRunSummary& summary);

/// Returns the first failing case of an op in one dtype; null if none is listed.
const ValidationResult* first_failure(const CiRunSummary& summary, const CiOp& op);

}  // namespace gpuemu::cli
