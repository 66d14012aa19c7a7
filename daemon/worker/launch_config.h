// What the device is asked to launch, from a plan's launch and where its tensors lie.
#pragma once

#include <span>

#include "daemon/worker/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {

/// `addresses`: of the plan's tensors, in its order. Time limit, order of threads and what is
/// counted are the caller's to set. InvalidArgument for an argument that names no tensor.
Result<LaunchConfig> launch_config(const ExecutionPlan& plan, const PlanLaunch& launch,
                                   std::span<const uint64_t> addresses);

}  // namespace gpuemu
