// The harness around kernels: runs a plan in the device's memory, and checks everything that the
// kernel must not modify. Uses no processes or sockets.
#pragma once

#include "common/base/arena.h"
#include "daemon/executor/plan.h"
#include "daemon/executor/run_memory.h"

namespace gpuemu {

/// Errors: InvalidArgument for a plan that is inconsistent or does not fit the arena,
/// ResourceExhausted if it needs more memory than its limit or the device's, Unavailable if the
/// device is lost. Faults of the kernel, including invalid launches, are in the report.
Result<ExecutionReport> execute(RunMemory& memory, ModuleId module, Arena& arena,
                                const ExecutionPlan& plan);

}  // namespace gpuemu
