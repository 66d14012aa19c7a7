// The stage DeviceFaults: what devices and the harness report, as findings of a result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/protocol/records.h"
#include "daemon/case/stage.h"

namespace gpuemu {

struct ExecutionReport;

/// Adds what the device, the guards and the harness saw, and why there is no reference. SkipValues
/// where the outputs mean nothing.
Result<Next> collect_faults(CaseWork& work);

/// Findings that come before the values are compared: launch, device, guards, unwritten outputs.
std::vector<ValidationFailure> findings_before_values(const ExecutionReport& report);
/// For an output with wrong values: that they are those of the run before.
std::optional<ValidationFailure> stale_output(const ExecutionReport& report,
                                              const std::string& output);
/// Findings that come after: runs of the same case that differ.
std::vector<ValidationFailure> findings_after_values(const ExecutionReport& report);
/// Adds to findings of NaN and infinity where the first of them comes from, when the device knows.
void explain_values(std::vector<ValidationFailure>& failures, const ExecutionReport& report);
/// True when the outputs mean nothing: the kernel did not run to its end.
bool outputs_are_void(const std::vector<ValidationFailure>& findings);
/// The first finding from which wrong values follow whatever the formula is; null: none.
const ValidationFailure* cause_of_values(const std::vector<ValidationFailure>& findings);
/// "the DataRace above at rows.cu:12 can cause these wrong values; fix it first"
std::string describe_cause(const ValidationFailure& cause);
/// What the worker process's own end says.
ValidationFailure finding_of(const Error& failure);

}  // namespace gpuemu
