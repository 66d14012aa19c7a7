// Shadow execution of a plan: configures a launch, and stores its result.
#pragma once

#include <memory>
#include <vector>

#include "common/base/arena.h"
#include "daemon/executor/execute_buffer.h"

namespace gpuemu {

/// Requests shadows of all outputs, and the history of the element that the plan names.
std::shared_ptr<const ShadowConfig> shadow_config(const ExecutionPlan& plan,
                                                  const std::vector<ExecuteBuffer>& buffers);

/// Stores elements in the arena and the rest in the report. Unsupported if the device gave no
/// result.
Status keep_shadow(const ShadowReport* answer, const DeviceProperties& device,
                   const ExecutionPlan& plan, Arena& arena, ExecutionReport& report);

}  // namespace gpuemu
