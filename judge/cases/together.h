// Repairs sizes that were drawn one by one and are incompatible, such as a filter wider than its
// image.
#pragma once

#include <map>
#include <string>

#include "common/config/op_config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// Changes the plan's dims if they make a size illegal or violate `require`: a single dim if that
/// is enough, so that the others keep their revealing sizes, else all of them. Leaves the dims
/// unchanged if it finds none that fit.
void make_go_together(const OpConfig& op, CasePlan& plan);

/// Like make_go_together(), but tries slightly smaller sizes first, so that a large case stays
/// large.
void keep_together(const OpConfig& op, CasePlan& plan);

/// Draws compatible sizes of at most `most`: the largest within the limits, else the smallest.
/// Returns false, without a change, if it finds none.
bool draw_below(const OpConfig& op, const std::map<std::string, int64_t>& most,
                const SizeLimits& limits, CasePlan& plan);

/// Like fit(). If lowering one size violates `require`, draws other sizes, and other values of the
/// attrs if no sizes are compatible with the plan's.
Status fit_together(const OpConfig& op, CasePlan& plan, const SizeLimits& limits);

}  // namespace gpuemu
