#include "daemon/pipeline/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "judge/verdict/conditioning.h"

namespace gpuemu {
Status Sensitivity::draw() {
  const CasePlan& plan = request_.plan;
  const NamedTensors inputs = neighbours_of(make_inputs(request_.op, plan),
                                            {plan.base_seed, plan.iteration}, changed_.size());
  changed_.push_back(GPUEMU_TRY(run_nudged(request_, machine_, inputs, changed_.size() + 1)));
  return ok_status();
}

double Sensitivity::at(const std::string& output, size_t index) const {
  const double value = element(view_of(exact_.at(output)), index);
  double moved = 0;
  for (const NamedTensors& changed : changed_)
    moved = std::max(moved, std::fabs(element(view_of(changed.at(output)), index) - value));
  return moved;
}

}  // namespace gpuemu
