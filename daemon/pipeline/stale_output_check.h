// Outputs that are those of the launch before, which had other inputs: whether the kernel keeps
// them, or never looks at its inputs.
#pragma once

#include "daemon/pipeline/case_run.h"
#include "daemon/pipeline/execution_plan.h"

namespace gpuemu {

/// Where values of an output are wrong and it is that of the launch before, the case runs once more
/// with the kernel loaded afresh. What it gives then, it gives without any launch before: the
/// wrong values say so. Else a finding in front of them says that results are kept.
Status name_stale_outputs(const ExecutionReport& report, const BuiltPlan& built,
                          const PreparedKernel& kernel, Slot& slot,
                          std::vector<ValidationFailure>& failures);

}  // namespace gpuemu
