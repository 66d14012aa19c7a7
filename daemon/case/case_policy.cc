#include "daemon/case/case_policy.h"

#include <algorithm>

#include "common/config/config.h"
#include "daemon/case/case_request.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/plans/execution_plan.h"
#include "judge/cases/case.h"

namespace gpuemu {

bool has_policy_by_default(const CaseRequest& request, const std::string& output) {
  return request.op.has_nan_policy && !request.op.is_nan_policy_given(output);
}

bool integers_have_to_match(const CaseRequest& request, const std::string& output) {
  if (is_strict(request)) return true;
  if (!request.op.is_nan_policy_given(output)) return false;
  const NanPolicy policy = request.op.nan_policy_of(output);
  return policy != NanPolicy::Any && policy != NanPolicy::Class;
}

bool may_wrap_integers(const CaseRequest& request) {
  const Strategy drawn = request.plan.value_strategy;
  const bool from_whole_type = drawn == Strategy::IntExtremes || drawn == Strategy::IntWide ||
                               drawn == Strategy::IntThresholds;
  if (!from_whole_type || is_strict(request)) return false;
  return std::ranges::any_of(request.plan.inputs, [&](const CaseTensor& input) {
    const auto spec = std::ranges::find(request.op.inputs, input.name, &TensorSpec::name);
    const bool has_range =
        spec != request.op.inputs.end() && (spec->range || spec->range_low || spec->range_high);
    return !is_float(input.dtype) && input.dtype != DType::Bool && !has_range;
  });
}

bool is_strict(const CaseRequest& request) {
  return request.op.strict.value_or(request.config.strict);
}

bool may_note_flushing(const CaseRequest& request) {
  const std::string& ptx = request.prepared.ptx;  // Empty: a function whose code is unknown.
  return request.op.subnormal == SubnormalPolicy::Note && !is_strict(request) &&
         (ptx.empty() || ptx.find(".ftz") != std::string::npos ||
          ptx.find(".add.f32") != std::string::npos);
}

ValidationPolicy agreement_policy(const CaseRequest& request) {
  ValidationPolicy policy;
  policy.accumulate_dtype = request.op.accumulate_dtype;
  policy.error_scale = request.op.error_scale;
  policy.ftz_ok = request.op.subnormal == SubnormalPolicy::FtzOk;
  policy.nan_policy = request.op.nan_policy;
  const Scope scope = scope_of(request.op, request.plan);
  if (!request.op.accumulate) return policy;
  if (const auto length = request.op.accumulate->evaluate(scope)) {
    policy.accumulate_length = *length;
  }
  return policy;
}

}  // namespace gpuemu
