// The stage DeviceFaults: converts reports of devices and of the harness to findings of a result.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/protocol/records.gen.h"
#include "daemon/case/stage.h"

namespace gpuemu {

struct ExecutionReport;

/// Adds the findings of the device, the guards and the harness, and why there is no reference.
/// SkipValues if the outputs are meaningless.
Result<Next> collect_faults(CaseWork& work);

/// Findings that come before the values are compared: launch, device, guards, unwritten outputs.
std::vector<ValidationFailure> findings_before_values(const ExecutionReport& report);
/// Returns a finding for an output with wrong values that are those of the run before.
std::optional<ValidationFailure> stale_output(const ExecutionReport& report,
                                              const std::string& output);
/// Findings that follow the comparison: runs of the same case that differ.
std::vector<ValidationFailure> findings_after_values(const ExecutionReport& report);
/// Returns a sentence for each part of the case that the device did not check.
std::set<std::string> unchecked_parts(const ExecutionReport& report);
/// Adds to findings of NaN and infinity where the first of them originates, if the device knows.
void explain_values(std::vector<ValidationFailure>& failures, const ExecutionReport& report);
/// Returns true if the outputs are meaningless because the kernel did not run to its end.
bool outputs_are_void(const std::vector<ValidationFailure>& findings);
/// Returns the first finding that causes wrong values whatever the formula is; null if there is
/// none.
const ValidationFailure* cause_of_values(const std::vector<ValidationFailure>& findings);
/// Returns text such as "the DataRace above at rows.cu:12 can cause these wrong values; fix it
/// first".
std::string describe_cause(const ValidationFailure& cause);
/// Returns the finding for the end of the worker process itself.
ValidationFailure finding_of(const Error& failure);

}  // namespace gpuemu
