// The harness around kernels: runs a plan on the memory's device and watches everything that the
// kernel should not touch. Pure of processes and sockets.
#pragma once

#include "common/base/arena.h"
#include "daemon/worker/plan.h"
#include "daemon/worker/run_memory.h"

namespace gpuemu {

/// InvalidArgument for a plan that does not fit itself or the arena, ResourceExhausted when it
/// needs more memory than its limit or the device's, Unavailable when the device is lost. What the
/// kernel does wrong, wrong launches included, is in the report.
Result<ExecutionReport> execute(RunMemory& memory, ModuleId module, Arena& arena,
                                const ExecutionPlan& plan);

}  // namespace gpuemu
