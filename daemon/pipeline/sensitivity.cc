#include "daemon/pipeline/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "common/rng/rng.h"
#include "judge/verdict/formats.h"

namespace gpuemu {
namespace {

/// Every finite element that is not 0 goes to a neighbour of its type, up or down.
Tensor neighbours(const Tensor& tensor, Stream stream) {
  std::vector<double> values(static_cast<size_t>(tensor.count()));
  widen_to_double(tensor.dtype, tensor.data, values);
  for (double& value : values) {
    const bool down = stream.negative();
    if (!std::isfinite(value) || value == 0) continue;
    const double step = ulp_at(format_of(tensor.dtype), value);
    value += down ? -step : step;
  }
  Tensor moved = tensor;
  narrow_from_double(tensor.dtype, values, moved.data);
  return moved;
}

NamedTensors changed_inputs(const CaseRequest& request, uint64_t draw) {
  NamedTensors inputs = make_inputs(request.op, request.plan);
  for (auto& [name, tensor] : inputs) {
    if (!is_float(tensor.dtype)) continue;
    const CasePlan& plan = request.plan;
    tensor = neighbours(tensor, Stream(plan.base_seed, plan.iteration,
                                       fmt::format("error_scale/{}/{}", name, draw)));
  }
  return inputs;
}

}  // namespace

Status Sensitivity::draw() {
  changed_.push_back(
      GPUEMU_TRY(run_exactly(request_, machine_, changed_inputs(request_, changed_.size()))));
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
