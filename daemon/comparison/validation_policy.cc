#include "daemon/comparison/validation_policy.h"

#include <algorithm>
#include <array>
#include <span>

#include "common/base/service_limits.h"
#include "common/config/config.h"
#include "daemon/case/case_request.h"
#include "judge/bounds/blocks.h"
#include "judge/bounds/float_format.h"
#include "judge/relations/known_properties.h"

namespace gpuemu {
namespace {

double largest_magnitude(const std::map<std::string, TensorView>& inputs) {
  double largest = 0;
  std::array<double, kBlockElements> buffer;
  for (const auto& [name, view] : inputs) {
    if (!is_float(view.dtype)) continue;
    if (view.dtype == DType::Float32) {
      largest = std::max(largest, largest_finite_float32(view.data));
      continue;
    }
    const size_t count = view.data.size() / byte_size(view.dtype);
    for (size_t at = 0; at < count; at += kBlockElements) {
      const size_t part = std::min(kBlockElements, count - at);
      const std::span<const double> values = as_doubles(view, at, {buffer.data(), part});
      largest = std::max(largest, largest_finite(values));
    }
  }
  return largest;
}

}  // namespace

Result<ValidationPolicy> validation_policy(const CaseRequest& request, const Scope& scope,
                                           const std::map<std::string, TensorView>& inputs) {
  ValidationPolicy policy;
  policy.accumulate_dtype = request.op.accumulate_dtype;
  policy.error_scale = request.op.error_scale;
  policy.input_abs_max = largest_magnitude(inputs);
  policy.ftz_ok = request.op.subnormal == SubnormalPolicy::FtzOk;
  policy.check_nan = request.config.check_nan;
  policy.check_inf = request.config.check_inf;
  policy.invariants = invariants_of(request.op, request.kernel);
  if (request.op.accumulate) {
    // Otherwise the bound would not be the one that the project requests.
    const auto length = request.op.accumulate->evaluate(scope);
    if (!length) return length.error().with_context(request.op.name + ": accumulate");
    if (*length < 0 || *length > kAccumulateMax) {
      return error(ErrorCode::InvalidArgument,
                   "{}: accumulate is {} in this case, expected a length from 0 to {}",
                   request.op.name, *length, kAccumulateMax);
    }
    policy.accumulate_length = *length;
  }
  return policy;
}

}  // namespace gpuemu
