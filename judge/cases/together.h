// Repairs sizes that were drawn one by one and do not fit together, such as a filter wider than its
// image.
#pragma once

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Changes the plan's dims if they make a size illegal or violate `require`: one dim if that is
/// enough, so that the others keep sizes that show mistakes, else all of them. Leaves the dims
/// unchanged if it finds none that fit.
void make_go_together(const OpConfig& op, CasePlan& plan);

}  // namespace gpuemu
