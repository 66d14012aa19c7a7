#include "daemon/comparison/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "daemon/case/case_request.h"
#include "daemon/case/reproduction.h"
#include "judge/bounds/conditioning.h"
#include "judge/cases/case.h"

namespace gpuemu {

Status Sensitivity::draw() {
  const CasePlan& plan = request_.plan;
  const NamedTensors inputs = make_inputs(request_.op, plan);
  const uint64_t draw = changed_.size() + 1;
  if (what_ == Moved::Constants) {
    changed_.push_back(GPUEMU_TRY(run_with_moved_constants(request_, slot_, inputs, draw)));
  } else {
    const NamedTensors neighbours =
        neighbours_of(inputs, {plan.base_seed, plan.iteration}, changed_.size());
    changed_.push_back(GPUEMU_TRY(run_nudged(request_, slot_, neighbours, draw)));
  }
  for (const auto& [output, values] : changed_.back()) {
    const auto exact = exact_.find(output);
    if (exact == exact_.end()) continue;
    const auto count = static_cast<size_t>(values.count());
    double& largest = largest_[output];
    for (size_t i = 0; i < count; ++i) {
      const double moved =
          std::fabs(element(view_of(values), i) - element(view_of(exact->second), i));
      if (std::isfinite(moved)) largest = std::max(largest, moved);
    }
  }
  return ok_status();
}

double Sensitivity::largest(const std::string& output) const {
  const auto found = largest_.find(output);
  return found == largest_.end() ? 0 : found->second;
}

double Sensitivity::at(const std::string& output, size_t index) const {
  const double value = element(view_of(exact_.at(output)), index);
  double moved = 0;
  for (const NamedTensors& changed : changed_) {
    moved = std::max(moved, std::fabs(element(view_of(changed.at(output)), index) - value));
  }
  return moved;
}

}  // namespace gpuemu
