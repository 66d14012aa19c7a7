// Converts a launch of a plan to the device's configuration, with the addresses of its tensors.
#pragma once

#include <span>

#include "daemon/executor/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {

/// `addresses`: those of the plan's tensors, in its order. The caller sets timeout, thread order
/// and counters. InvalidArgument for an argument that names no tensor.
Result<LaunchConfig> launch_config(const ExecutionPlan& plan, const PlanLaunch& launch,
                                   std::span<const uint64_t> addresses);

}  // namespace gpuemu
