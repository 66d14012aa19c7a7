// Sets the __constant__ and __device__ variables of a plan before a kernel runs.
#pragma once

#include "common/base/arena.h"
#include "daemon/executor/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {

/// A module loaded on a device.
struct LoadedModule {
  Device& device;
  ModuleId module;
};

/// Sets every variable of the plan for `run`; with `warmup`, to the warmup's values. Other bytes
/// get poison and count as uninitialised.
Status set_variables(const LoadedModule& loaded, Arena& arena, const ExecutionPlan& plan,
                     uint32_t run, bool warmup = false);

/// Returns the content of the variable before `run`. InvalidArgument if its value is too large.
Result<std::vector<std::byte>> variable_image(const PlanVariable& variable, Arena& arena,
                                              const ExecutionPlan& plan, uint32_t run,
                                              bool warmup = false);

/// Adds to the message about a read of an unset variable how to set it.
void explain_unset(const ExecutionPlan& plan, DeviceFinding& finding);

}  // namespace gpuemu
