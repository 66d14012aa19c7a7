// The stage Relations: runs the kernel on related cases whose outputs must agree with this one.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Checks every relation of the op on a case that passes so far, and records which were checked and
/// which are violated. The arena holds other tensors afterwards.
Result<Next> check_relations(CaseWork& work);

}  // namespace gpuemu
