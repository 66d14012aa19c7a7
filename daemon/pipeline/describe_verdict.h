// What the report of an op says of its verdict beside its findings.
#pragma once

namespace gpuemu {

struct Config;
struct OpConfig;
struct OpTestReport;

/// Says in the report what its verdict rests on where no reference was compared, and which
/// relations no case could tell anything about.
void describe_verdict(const Config& config, const OpConfig& op, OpTestReport& report);

}  // namespace gpuemu
