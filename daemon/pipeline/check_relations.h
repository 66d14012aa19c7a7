// The stage Relations: further runs of the kernel that must agree with the case.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Checks every relation of the op on a case that passes so far, and adds which were checked and
/// which do not hold. The arena holds other tensors afterwards.
Result<Next> check_relations(CaseWork& work);

}  // namespace gpuemu
