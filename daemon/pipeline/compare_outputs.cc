// The verdict on outputs: bounds, exact comparison, power, shadows.
#include "daemon/pipeline/compare_outputs.h"

#include <algorithm>
#include <cmath>

#include "common/base/service_limits.h"
#include "common/numeric/element.h"
#include "daemon/pipeline/case_export.h"
#include "daemon/pipeline/review_findings.h"
#include "daemon/pipeline/rounding_review.h"
#include "judge/relations/infer.h"
#include "judge/verdict/bound.h"
#include "judge/verdict/customary.h"
#include "judge/verdict/error_map.h"
#include "judge/verdict/exact_sums.h"
#include "judge/verdict/flushed.h"
#include "judge/verdict/invariants.h"
#include "judge/verdict/undefined_integers.h"
#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

double largest_magnitude(const std::map<std::string, TensorView>& inputs) {
  double largest = 0;
  std::vector<double> wide;
  for (const auto& [name, view] : inputs) {
    if (!is_float(view.dtype)) continue;
    wide.resize(view.data.size() / byte_size(view.dtype));
    widen_to_double(view.dtype, view.data, wide);
    for (const double value : wide) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  }
  return largest;
}

Result<ValidationPolicy> policy_of(const CaseRequest& request, const Scope& scope,
                                   double magnitude) {
  ValidationPolicy policy;
  policy.accumulate_dtype = request.op.accumulate_dtype;
  policy.error_scale = request.op.error_scale;
  policy.input_magnitude = magnitude;
  policy.ftz_ok = request.op.subnormal == SubnormalPolicy::FtzOk;
  if (request.op.has_nan_policy) policy.nan_policy = request.op.nan_policy;
  policy.check_nan = request.config.check_nan;
  policy.check_inf = request.config.check_inf;
  policy.invariants = invariants_of(request.op, request.kernel);
  if (request.op.accumulate) {
    // Without it the bound would be another one than the project asks for.
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

/// Compares every output with what the reference said and adds to the outcome.
class OutputJudge {
 public:
  OutputJudge(const CaseRequest& request, const BuiltPlan& built, Arena& arena)
      : request_(request), built_(built), arena_(arena) {}

  /// `reply` is null without a reference.
  Status judge(const ReferenceReply* reply, CaseOutcome& outcome) {
    GPUEMU_TRY(collect_inputs());
    const Scope scope = scope_of(request_.op, request_.plan);
    ValidationPolicy policy = GPUEMU_TRY(policy_of(request_, scope, largest_magnitude(inputs_)));
    for (size_t index = 0; index < request_.plan.outputs.size(); ++index) {
      const CaseTensor& output = request_.plan.outputs[index];
      policy.tolerance = request_.config.tolerance_for(request_.op, output.dtype);
      policy.error_scale = request_.op.error_scale_of(output.name);
      GPUEMU_TRY(judge_one(output, reply, policy, outcome));
    }
    return ok_status();
  }

 private:
  Status collect_inputs() {
    for (const PlanTensor& tensor : built_.plan.tensors) {
      if (tensor.role != PlanTensor::Role::Input && tensor.role != PlanTensor::Role::InOut) {
        continue;
      }
      inputs_[tensor.name] =
          GPUEMU_TRY(arena_view(arena_, tensor.dtype, tensor.shape, tensor.arena_offset));
    }
    return ok_status();
  }

  const PlanTensor& planned(const std::string& name) const {
    return *std::ranges::find(built_.plan.tensors, name, &PlanTensor::name);
  }

  Status judge_one(const CaseTensor& output, const ReferenceReply* reply,
                   const ValidationPolicy& policy, CaseOutcome& outcome) {
    Comparison comparison;
    comparison.output_name = output.name;
    comparison.output = GPUEMU_TRY(
        arena_view(arena_, output.dtype, output.shape, planned(output.name).output_offset));
    comparison.inputs = inputs_;
    if (!request_.plan.inputs.empty()) comparison.first_input = request_.plan.inputs.front().name;
    comparison.policy = policy;
    comparison.has_reference = reply != nullptr;
    if (reply != nullptr && !GPUEMU_TRY(add_reference(*reply, comparison, outcome))) {
      return ok_status();
    }
    const UndefinedIntegers undefined =
        reply != nullptr ? undefined_integers(comparison, GPUEMU_TRY(float_references(*reply)))
                         : UndefinedIntegers();
    comparison.undefined = undefined.mask;
    comparison.undefined_hint = undefined.hint;
    if (!undefined.mask.empty()) add_note(kUndefinedIntegers, outcome);
    if (outcome.exported && comparison.has_reference &&
        comparison.output.shape == comparison.reference.shape) {
      add_expectation(comparison, *outcome.exported);
    }
    const bool exact = comparison.has_reference && ask_exactly(comparison);
    Verdict verdict = validate(comparison);
    std::optional<Tensor> flushed;
    if (!verdict.failures.empty() && comparison.has_reference && may_note_flushing(request_))
      flushed = flushed_reference(comparison, flushed_inputs_reference(output.name));
    if (flushed) {
      comparison.reference = view_of(*flushed);
      verdict = validate(comparison);
      add_note(kFlushed, outcome);
    }
    if (comparison.policy.tolerance.automatic) {
      add_doubtful(comparison, verdict, outcome);
      note_scale(comparison, outcome);
    }
    if (exact) explain_exactness(verdict);
    if (comparison.has_reference) measure(comparison, verdict, outcome);
    for (const InvariantSpec& spec : policy.invariants) {
      if (is_rarely_told(spec.name) && tells_about(comparison, spec)) add_note(spec.name, outcome);
    }
    if (request_.wishes.shadow.wanted) GPUEMU_TRY(compare_exact(comparison, outcome));
    if (request_.wishes.error_map && comparison.has_reference &&
        (!outcome.error_map || !(verdict.max_diff <= outcome.result.max_diff))) {
      outcome.error_map = map_errors(comparison);
    }
    take(std::move(verdict), output.name, outcome);
    return ok_status();
  }

  const TensorView* flushed_inputs_reference(const std::string& name) const {
    const auto found = request_.of_flushed_inputs.find(name);
    return found == request_.of_flushed_inputs.end() ? nullptr : &found->second;
  }

  /// What the reference says of the op's float outputs.
  Result<std::vector<NamedReference>> float_references(const ReferenceReply& reply) {
    std::vector<NamedReference> all;
    for (const CaseTensor& output : request_.plan.outputs) {
      const auto found = std::ranges::find(reply.outputs, output.name, &ReferenceTensor::name);
      if (!is_float(output.dtype) || found == reply.outputs.end() || !is_float(found->dtype))
        continue;
      const TensorView view =
          GPUEMU_TRY(arena_view(arena_, found->dtype, found->shape, found->arena_offset));
      all.push_back({output.name, view});
    }
    return all;
  }

  static void add_doubtful(const Comparison& comparison, const Verdict& verdict,
                           CaseOutcome& outcome) {
    const TensorView &output = comparison.output, &reference = comparison.reference;
    const bool exceeded = std::ranges::any_of(verdict.failures, [](const auto& failure) {
      return failure.kind == FindingKind::ToleranceExceeded;
    });
    if (!exceeded || output.shape != reference.shape) return;
    if (!is_float(output.dtype)) return add_off_by_one(comparison, outcome);
    const Bound bound(comparison);
    const Customary customary(comparison);
    const bool declared = comparison.policy.error_scale != "auto" || !comparison.scale.empty();
    const auto count = static_cast<size_t>(element_count(output.shape));
    for (size_t i = 0; i < count; ++i) {
      const double computed = element(output, i), expected = element(reference, i);
      if (!std::isfinite(computed) || !std::isfinite(expected)) continue;
      const double allowed = bound.at(i, expected), error = std::fabs(computed - expected);
      if (error <= allowed) continue;
      const double usual = customary.at(i, expected);
      if (outcome.exceeding.size() < static_cast<size_t>(kDiagnosedElementsMax)) {
        outcome.exceeding.push_back({comparison.output_name, i, computed, expected, allowed, usual,
                                     customary.magnitude(i), declared});
      } else if (declared || !(error <= usual)) {
        outcome.exceeding_refused = true;
      }
    }
  }

  static void add_off_by_one(const Comparison& comparison, CaseOutcome& outcome) {
    if (comparison.output.dtype == DType::Bool) return;
    uint64_t others = 0;
    const auto count = static_cast<size_t>(element_count(comparison.output.shape));
    for (size_t i = 0; i < count; ++i) {
      if (!comparison.undefined.empty() && comparison.undefined[i] != 0) continue;
      const double apart =
          std::fabs(element(comparison.output, i) - element(comparison.reference, i));
      if (!(apart <= 1)) return;
      others += apart == 1 ? 1 : 0;
    }
    if (others > 0) outcome.off_by_one[comparison.output_name] = others;
  }

  /// A scale that somebody has named and that does nothing.
  static void note_scale(const Comparison& comparison, CaseOutcome& outcome) {
    const std::string& name = comparison.policy.error_scale;
    if (!comparison.has_reference || !is_float(comparison.output.dtype) ||
        element_count(comparison.output.shape) == 0 || !comparison.scale.empty() ||
        scale_applies(comparison))
      return;
    outcome.notes.insert(fmt::format(
        "error_scale '{}' does not apply to output '{}', whose bound is that of 'auto': "
        "{}; `error_scale = {{ {} = ... }}` names one for this output",
        name, comparison.output_name, needed_for(name), comparison.output_name));
  }

  static const char* needed_for(const std::string& name) {
    if (name == "sum") return "the first input has no row for each of its elements";
    if (name == "dot" || name == "matmul") return "no two inputs multiply to its shape";
    return "no input has its shape";
  }

  static void add_note(const std::string& name, CaseOutcome& outcome) {
    if (std::ranges::find(outcome.relations, name) == outcome.relations.end())
      outcome.relations.push_back(name);
  }

  /// False when the reference does not have this output.
  Result<bool> add_reference(const ReferenceReply& reply, Comparison& comparison,
                             CaseOutcome& outcome) {
    const std::string& name = comparison.output_name;
    const auto expected = std::ranges::find(reply.outputs, name, &ReferenceTensor::name);
    if (expected == reply.outputs.end()) {
      outcome.result.failures.push_back(
          {.kind = FindingKind::ReferenceError,
           .message = fmt::format("{} returned no output '{}'", request_.op.reference, name),
           .output = name});
      return false;
    }
    comparison.reference =
        GPUEMU_TRY(arena_view(arena_, expected->dtype, expected->shape, expected->arena_offset));
    comparison.reference_is_wide = reply.function_form;
    const auto scale = std::ranges::find(reply.scales, name, &ReferenceTensor::name);
    const bool named = request_.op.error_scales.contains(name);
    if (!named && scale != reply.scales.end() && scale->shape == comparison.output.shape) {
      const TensorView view =
          GPUEMU_TRY(arena_view(arena_, DType::Float64, scale->shape, scale->arena_offset));
      comparison.scale = {reinterpret_cast<const double*>(view.data.data()),
                          view.data.size() / sizeof(double)};
    }
    return true;
  }

  /// Takes the tolerance away where no rounding can be the kernel's excuse.
  bool ask_exactly(Comparison& comparison) {
    const int64_t terms = comparison.policy.accumulate_length.value_or(1);
    const bool exact = compares_exactly({request_.op, request_.plan, terms, inputs_},
                                        comparison.reference, comparison.output.dtype);
    if (exact) comparison.policy.tolerance = Tolerance();
    const Tolerance& tolerance = comparison.policy.tolerance;
    const bool whole = !is_float(comparison.output.dtype) &&
                       (tolerance.automatic || (tolerance.atol < 1 && tolerance.rtol == 0));
    all_exact_ = all_exact_ && (exact || whole);
    return exact;
  }

  static void explain_exactness(Verdict& verdict) {
    for (ValidationFailure& failure : verdict.failures) {
      if (failure.kind == FindingKind::ToleranceExceeded)
        failure.message += "; all inputs are small whole numbers, so any order of adding is exact";
    }
  }

  /// What passing proves, and how large the errors are; as asked for.
  void measure(const Comparison& comparison, const Verdict& verdict, CaseOutcome& outcome) const {
    outcome.exact = all_exact_;
    if (comparison.output.shape != comparison.reference.shape) return;
    if (request_.wishes.envelope && is_float(comparison.output.dtype))
      add_errors(comparison, outcome.envelope);
    if (!request_.wishes.power || !verdict.failures.empty()) return;
    const Power power = power_of(comparison);
    if (outcome.power) {
      outcome.power->join(power);
    } else {
      outcome.power = power;
    }
  }

  Status compare_exact(const Comparison& comparison, CaseOutcome& outcome) {
    const TensorView &output = comparison.output, &reference = comparison.reference;
    Tensor& exact = outcome.exact_outputs[comparison.output_name];
    exact = {output.dtype, output.shape, {output.data.begin(), output.data.end()}};
    if (!is_float(output.dtype)) return ok_status();
    const auto index =
        static_cast<size_t>(&planned(comparison.output_name) - built_.plan.tensors.data());
    const auto count = static_cast<uint64_t>(element_count(output.shape));
    const auto bytes =
        GPUEMU_TRY(arena_.range(built_.plan.shadow.offsets[index], count * sizeof(ElementShadow)));
    const std::span shadows(reinterpret_cast<const ElementShadow*>(bytes.data()), count);
    if (comparison.has_reference && output.shape == reference.shape)
      outcome.shadows.push_back(compare_shadow(comparison, shadows, request_.wishes.shadow));
    for (ExactProperty& property : judge_exactly(comparison, shadows))
      outcome.properties.push_back(std::move(property));
    narrow_from_double(output.dtype, exact_values(output, shadows), exact.data);
    return ok_status();
  }

  void take(Verdict verdict, const std::string& name, CaseOutcome& outcome) {
    ValidationResult& result = outcome.result;
    const bool fails = !verdict.failures.empty();
    for (ValidationFailure& failure : verdict.failures) {
      failure.output = name;
      if (request_.plan.outputs.size() > 1) failure.message = name + ": " + failure.message;
      result.failures.push_back(std::move(failure));
    }
    if (!(verdict.max_diff <= result.max_diff)) result.max_diff = verdict.max_diff;
    if (!(verdict.max_rel_diff <= result.max_rel_diff)) result.max_rel_diff = verdict.max_rel_diff;
    // The statistics of a case are those of its worst output, and one that fails is worse.
    const bool worse =
        fails == statistics_fail_ ? !(verdict.worst_use <= outcome.worst_use) : fails;
    outcome.worst_use = std::max(outcome.worst_use, verdict.worst_use);
    if ((!worse && result.error_stats) || !verdict.stats) return;
    result.error_stats = verdict.stats;
    statistics_fail_ = fails;
  }

  const CaseRequest& request_;
  const BuiltPlan& built_;
  Arena& arena_;
  std::map<std::string, TensorView> inputs_;
  bool all_exact_ = true;
  bool statistics_fail_ = false;  ///< error_stats are those of an output that fails.
};

}  // namespace

Result<TensorView> arena_view(Arena& arena, DType dtype, const Shape& shape, uint64_t offset) {
  const uint64_t bytes = static_cast<uint64_t>(element_count(shape)) * byte_size(dtype);
  const auto range = GPUEMU_TRY(arena.range(offset, bytes));
  return TensorView{dtype, shape, range};
}

Status judge_outputs(const CaseRequest& request, const BuiltPlan& built, Arena& arena,
                     const ReferenceReply* reply, CaseOutcome& outcome) {
  return OutputJudge(request, built, arena).judge(reply, outcome);
}

}  // namespace gpuemu
