// What the host sets in __constant__ and __device__ variables before a kernel runs.
#pragma once

#include "common/base/arena.h"
#include "daemon/worker/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {

/// A module that a device has loaded.
struct LoadedModule {
  Device& device;
  ModuleId module;
};

/// Gives every variable of the plan its bytes for `run`; those of the warmup if asked. Bytes that
/// nothing sets are poison, which counts as never written.
Status set_variables(const LoadedModule& loaded, Arena& arena, const ExecutionPlan& plan,
                     uint32_t run, bool warmup = false);

/// What the variable holds before `run`. InvalidArgument where its value is larger than it is.
Result<std::vector<std::byte>> variable_image(const PlanVariable& variable, Arena& arena,
                                              const ExecutionPlan& plan, uint32_t run,
                                              bool warmup = false);

/// Adds how to set it to the message of a read of a variable that nothing sets.
void explain_unset(const ExecutionPlan& plan, DeviceFinding& finding);

}  // namespace gpuemu
