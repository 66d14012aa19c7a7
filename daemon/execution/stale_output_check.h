// The stage Repeat: the same outputs again, and not those of the launch before, which had other
// inputs.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Adds what differed between the runs of the case, and says of wrong values whether the kernel
/// keeps results between launches or never reads its inputs. May run the kernel once more.
Result<Next> check_repeatability(CaseWork& work);

}  // namespace gpuemu
