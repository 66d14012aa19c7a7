// Remarks on the verdict in the report of an op, besides its findings.
#pragma once

#include <string>

namespace gpuemu {

struct Config;
struct OpConfig;
struct OpTestReport;

/// Returns what to check before believing a failure, if sizes, arguments or launches of the op are
/// guessed; otherwise "".
std::string guess_text(const OpConfig& op);

/// Adds to the report what the verdict is based on if no reference was compared, and which
/// relations were not conclusive in any case.
void describe_verdict(const Config& config, const OpConfig& op, OpTestReport& report);

}  // namespace gpuemu
