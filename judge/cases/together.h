// Repairs sizes that were drawn one by one and do not fit together, such as a filter wider than its
// image.
#pragma once

#include <map>
#include <string>

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Changes the plan's dims if they make a size illegal or violate `require`: one dim if that is
/// enough, so that the others keep sizes that show mistakes, else all of them. Leaves the dims
/// unchanged if it finds none that fit.
void make_go_together(const OpConfig& op, CasePlan& plan);

/// As make_go_together(), but tries slightly smaller sizes first, so that a large case stays large.
void keep_together(const OpConfig& op, CasePlan& plan);

/// Draws sizes of at most `most` that go together: of those within the limits the largest, else the
/// smallest. False, and the plan unchanged, where it finds none.
bool draw_below(const OpConfig& op, const std::map<std::string, int64_t>& most,
                const SizeLimits& limits, CasePlan& plan);

/// As fit(). Where lowering one size breaks `require`, it draws other sizes, and other values of
/// the attrs where no sizes go with those of the plan.
Status fit_together(const OpConfig& op, CasePlan& plan, const SizeLimits& limits);

}  // namespace gpuemu
