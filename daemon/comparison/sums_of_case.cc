#include "daemon/comparison/sums_of_case.h"

#include <algorithm>
#include <vector>

#include "daemon/case/case_request.h"
#include "daemon/plans/execution_plan.h"
#include "judge/bounds/conditioning.h"
#include "judge/bounds/float_format.h"
#include "judge/cases/case.h"

namespace gpuemu {

DType dtype_of_output(const CasePlan& plan, const std::string& output) {
  const auto found = std::ranges::find(plan.outputs, output, &CaseTensor::name);
  return found == plan.outputs.end() ? plan.dtype : found->dtype;
}

double summed_terms(const CaseRequest& request, const std::string& output) {
  const CasePlan& plan = request.plan;
  if (request.op.accumulate) {
    const auto length = request.op.accumulate->evaluate(scope_of(request.op, plan));
    if (length) return static_cast<double>(std::max<int64_t>(*length, 1));
  }
  std::vector<Shape> inputs;
  for (const CaseTensor& input : plan.inputs) inputs.push_back(input.shape);
  const auto found = std::ranges::find(plan.outputs, output, &CaseTensor::name);
  return terms_of(inputs, found == plan.outputs.end() ? Shape{} : found->shape);
}

double constants_share(const CasePlan& plan) {
  double unit = 0;
  for (const CaseTensor& input : plan.inputs) {
    if (is_float(input.dtype)) unit = std::max(unit, format_of(input.dtype).unit);
  }
  return unit > 0 ? std::min(1.0, format_of(DType::Float32).unit / unit) : 1;
}

}  // namespace gpuemu
