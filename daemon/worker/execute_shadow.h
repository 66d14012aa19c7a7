// Shadow execution of a plan: what a launch is asked for, and where its answer goes.
#pragma once

#include <memory>
#include <vector>

#include "common/base/arena.h"
#include "daemon/worker/execute_buffer.h"

namespace gpuemu {

/// Shadows of all outputs, and the history of the element that the plan names.
std::shared_ptr<const ShadowConfig> shadow_config(const ExecutionPlan& plan,
                                                  const std::vector<ExecuteBuffer>& buffers);

/// Elements into the arena, the rest into the report. Unsupported when the device gave no answer.
Status keep_shadow(const ShadowReport* answer, const DeviceProperties& device,
                   const ExecutionPlan& plan, Arena& arena, ExecutionReport& report);

}  // namespace gpuemu
