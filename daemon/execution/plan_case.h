// The stage Plan: geometry, buffers, inputs in shared memory.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Builds what the worker executes and writes the inputs into the slot's memory.
Result<Next> make_plan(CaseWork& work);

}  // namespace gpuemu
