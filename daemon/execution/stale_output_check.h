// The stage Repeat: checks that repeated runs give the same outputs, and that these are not the
// outputs of the previous launch, which had other inputs.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Adds the differences between the runs of the case, and adds to findings of wrong values whether
/// the kernel keeps results between launches or never reads its inputs. May run the kernel once
/// more.
Result<Next> check_repeatability(CaseWork& work);

}  // namespace gpuemu
