// The stage Plan: computes geometry and buffers, and writes inputs to shared memory.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Builds the plan for the worker and writes the inputs into the slot's memory.
Result<Next> make_plan(CaseWork& work);

}  // namespace gpuemu
