// Sizes that are drawn one by one and do not go together: a filter wider than its image.
#pragma once

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Changes the plan's dims where a size has no legal value with them or `require` does not hold:
/// one dim where that helps, so that the others stay where mistakes show, else all. Leaves them as
/// they are where no others are found.
void make_go_together(const OpConfig& op, CasePlan& plan);

}  // namespace gpuemu
