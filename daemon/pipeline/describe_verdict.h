// Remarks on the verdict in the report of an op, besides its findings.
#pragma once

namespace gpuemu {

struct Config;
struct OpConfig;
struct OpTestReport;

/// Adds to the report what the verdict is based on if no reference was compared, and which
/// relations were not conclusive in any case.
void describe_verdict(const Config& config, const OpConfig& op, OpTestReport& report);

}  // namespace gpuemu
