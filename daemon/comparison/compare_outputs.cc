// The verdict on outputs: choice of the bound, exact comparison, flushed results.
#include "daemon/comparison/compare_outputs.h"

#include <algorithm>
#include <cmath>

#include "common/base/text.h"
#include "common/config/config.h"
#include "common/numeric/element.h"
#include "daemon/case/arena_view.h"
#include "daemon/case/case_policy.h"
#include "daemon/case/case_work.h"
#include "daemon/comparison/class_differences.h"
#include "daemon/comparison/compare_flushed.h"
#include "daemon/comparison/expected_words.h"
#include "daemon/comparison/review_findings.h"
#include "daemon/comparison/validation_policy.h"
#include "daemon/execution/execute_case.h"
#include "daemon/execution/reference_again.h"
#include "daemon/schedule/slot.h"
#include "judge/bounds/customary.h"
#include "judge/bounds/error_bound.h"
#include "judge/bounds/exact_sums.h"
#include "judge/bounds/flushed.h"
#include "judge/bounds/undefined_integers.h"
#include "judge/bounds/wrapped_integers.h"
#include "judge/relations/known_properties.h"
#include "judge/verdict/cut_bits.h"
#include "judge/verdict/invariants.h"
#include "judge/verdict/masked.h"
#include "judge/verdict/nan_for_infinity.h"
#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

/// Compares every output with the reference's answer.
class OutputComparer {
 public:
  OutputComparer(const CaseRequest& request, const BuiltPlan& built, Arena& arena)
      : request_(request), built_(built), arena_(arena) {}

  /// `reply` is null without a reference.
  Result<ComparedValues> compare(const ReferenceReply* reply) {
    GPUEMU_TRY(collect_inputs());
    const Scope scope = scope_of(request_.op, request_.plan);
    ValidationPolicy policy = GPUEMU_TRY(validation_policy(request_, scope, inputs_));
    for (const CaseTensor& output : request_.plan.outputs) {
      policy.tolerance = request_.config.tolerance_for(request_.op, output.dtype, output.name);
      policy.error_scale = request_.op.error_scale_of(output.name);
      if (request_.op.has_nan_policy) policy.nan_policy = request_.op.nan_policy_of(output.name);
      GPUEMU_TRY(compare_output(output, reply, policy));
    }
    return std::move(values_);
  }

 private:
  Status collect_inputs() {
    for (const PlanTensor& tensor : built_.plan.tensors) {
      if (!is_read(tensor)) continue;
      inputs_[tensor.name] =
          GPUEMU_TRY(arena_view(arena_, tensor.dtype, tensor.shape, tensor.arena_offset));
    }
    return ok_status();
  }

  const PlanTensor& planned(const std::string& name) const {
    return *std::ranges::find(built_.plan.tensors, name, &PlanTensor::name);
  }

  Status compare_output(const CaseTensor& output, const ReferenceReply* reply,
                        const ValidationPolicy& policy) {
    ComparedOutput compared;
    Comparison& comparison = compared.comparison;
    comparison.output_name = output.name;
    comparison.output = GPUEMU_TRY(
        arena_view(arena_, output.dtype, output.shape, planned(output.name).output_offset));
    comparison.inputs = inputs_;
    if (!request_.plan.inputs.empty()) {
      comparison.reference_input = request_.plan.inputs.front().name;
    }
    comparison.policy = policy;
    const bool has_predicate =
        reply != nullptr &&
        std::ranges::find(reply->predicates, output.name) != reply->predicates.end();
    comparison.has_reference = reply != nullptr && !has_predicate;
    if (comparison.has_reference) {
      if (!GPUEMU_TRY(add_reference(*reply, comparison))) return ok_status();
      GPUEMU_TRY(match_reference(compared));
      UndefinedIntegers undefined =
          undefined_integers(comparison, GPUEMU_TRY(float_references(*reply)),
                             integers_have_to_match(request_, output.name));
      if (!undefined.mask.empty()) values_.notes.insert(CaseNote::UndefinedIntegers);
      compared.undefined = std::move(undefined.mask);
      if (may_wrap_integers(request_)) leave_out_wrapped(compared);
      comparison.undefined = compared.undefined;
      comparison.undefined_hint = undefined.hint;
    }
    compared.reference = comparison.reference;
    compared.tolerance = policy.tolerance;
    compared.exact = comparison.has_reference && drop_tolerance(comparison);
    Verdict verdict = validate(comparison);
    if (has_predicate) add_refused(*reply, comparison, verdict);
    if (!verdict.failures.empty()) accept_infinity_for_nan(compared, verdict);
    if (!verdict.failures.empty()) accept_masked(compared, verdict);
    if (!verdict.failures.empty()) accept_nan_for_infinity(compared, verdict);
    if (!verdict.failures.empty()) accept_flushed(compared, verdict);
    if (comparison.policy.tolerance.automatic) {
      note_exceeding(compared, verdict);
      note_class_differences(request_, comparison, verdict, values_);
      note_scale(comparison);
      if (verdict.failures.empty()) note_cut_bits(comparison);
    }
    explain_expected(compared, verdict.failures);
    for (const InvariantSpec& spec : policy.invariants) {
      if (is_rarely_conclusive(spec.kind) && is_conclusive(comparison, spec)) {
        values_.invariants.emplace_back(name_of(spec.kind));
      }
    }
    take(std::move(verdict), compared);
    return ok_status();
  }

  /// Takes integers that no output of this type can hold out of the comparison.
  void leave_out_wrapped(ComparedOutput& compared) {
    const std::vector<uint8_t> wrapped = wrapped_integers(compared.comparison);
    if (wrapped.empty()) return;
    values_.notes.insert(CaseNote::WrappedIntegers);
    compared.undefined.resize(wrapped.size());
    for (size_t i = 0; i < wrapped.size(); ++i) compared.undefined[i] |= wrapped[i];
  }

  /// Reports the elements that the reference's predicate rejects.
  static void add_refused(const ReferenceReply& reply, const Comparison& comparison,
                          Verdict& verdict) {
    const auto said = reply.accepted.find(comparison.output_name);
    if (said == reply.accepted.end()) return;
    const std::vector<uint8_t>& accepted = said->second;
    const auto first = std::ranges::find(accepted, 0);
    if (first == accepted.end()) return;
    const auto index = static_cast<size_t>(first - accepted.begin());
    ValidationFailure failure{.kind = FindingKind::InvariantViolation, .message = {}};
    failure.index = static_cast<int64_t>(index);
    failure.actual = element(comparison.output, index);
    failure.message =
        fmt::format("the reference's predicate rejects {} of {}; the first is element {}: {}",
                    std::ranges::count(accepted, 0), counted(accepted.size(), "element"), index,
                    *failure.actual);
    verdict.failures.push_back(std::move(failure));
  }

  /// Accepts the numbers that the reference gives for elements that do not depend on any NaN or
  /// infinity.
  void accept_masked(ComparedOutput& compared, Verdict& verdict) {
    Comparison& comparison = compared.comparison;
    const auto found = request_.of_finite_inputs.find(comparison.output_name);
    const auto limits = request_.of_limits.find(comparison.output_name);
    // The reference for other inputs has the order of the script.
    if (compared.matched || !comparison.has_reference) return;
    if (request_.op.is_nan_policy_given(comparison.output_name)) return;
    const std::vector<TensorView> none;
    compared.masked = masked_reference(
        comparison, found == request_.of_finite_inputs.end() ? none : found->second,
        limits == request_.of_limits.end() ? none : limits->second);
    if (!compared.masked) return;
    comparison.reference = view_of(*compared.masked);
    verdict = validate(comparison);
    values_.notes.insert(CaseNote::Masked);
  }

  /// Accepts an infinity from the kernel where the reference gives NaN because an input is
  /// infinite.
  void accept_infinity_for_nan(ComparedOutput& compared, Verdict& verdict) {
    Comparison& comparison = compared.comparison;
    const auto found = request_.of_numbers_for_infinity.find(comparison.output_name);
    // The reference for other inputs has the order of the script.
    if (compared.matched || found == request_.of_numbers_for_infinity.end()) return;
    compared.infinity_for_nan = infinity_for_nan(comparison, found->second);
    if (!compared.infinity_for_nan) return;
    comparison.reference = view_of(*compared.infinity_for_nan);
    verdict = validate(comparison);
    values_.remarks.insert(
        "the kernel gives an infinity where the reference gives NaN, and an input is infinite: "
        "formulas that agree for finite numbers differ there (inf - inf, 0 * inf). Set nan_policy "
        "= \"match\" to make this a failure");
  }

  /// Accepts NaN from the kernel where the reference gives an infinity and an input is infinite:
  /// there, formulas that agree for finite numbers may give either.
  void accept_nan_for_infinity(ComparedOutput& compared, Verdict& verdict) {
    Comparison& comparison = compared.comparison;
    if (!comparison.has_reference || is_strict(request_)) return;
    if (!has_policy_by_default(request_, comparison.output_name)) return;
    compared.nan_for_infinity = nan_for_infinity(comparison);
    if (!compared.nan_for_infinity) return;
    comparison.reference = view_of(*compared.nan_for_infinity);
    verdict = validate(comparison);
    values_.remarks.insert(
        "the kernel gives NaN where the reference gives an infinity, and an input is infinite: "
        "formulas that agree for finite numbers differ there (inf - inf). Set nan_policy = "
        "\"match\" to make this a failure");
  }

  /// Judges by the reference with flushed results if flushing is no fault.
  void accept_flushed(ComparedOutput& compared, Verdict& verdict) {
    Comparison& comparison = compared.comparison;
    // The reference for flushed inputs has the order of the script.
    if (compared.matched || !comparison.has_reference || !may_note_flushing(request_)) return;
    compared.flushed =
        flushed_reference(comparison, flushed_inputs_reference(comparison.output_name));
    if (!compared.flushed) return;
    comparison.reference = view_of(*compared.flushed);
    verdict = validate(comparison);
    values_.notes.insert(CaseNote::Flushed);
  }

  const TensorView* flushed_inputs_reference(const std::string& name) const {
    const auto found = request_.of_flushed_inputs.find(name);
    return found == request_.of_flushed_inputs.end() ? nullptr : &found->second;
  }

  /// Returns the reference values of the op's float outputs.
  Result<std::vector<NamedReference>> float_references(const ReferenceReply& reply) {
    std::vector<NamedReference> all;
    for (const CaseTensor& output : request_.plan.outputs) {
      const auto found = std::ranges::find(reply.outputs, output.name, &ReferenceTensor::name);
      if (!is_float(output.dtype) || found == reply.outputs.end() || !is_float(found->dtype)) {
        continue;
      }
      const TensorView view =
          GPUEMU_TRY(arena_view(arena_, found->dtype, found->shape, found->arena_offset));
      all.push_back({output.name, view});
    }
    return all;
  }

  /// Records elements beyond the bound. An element that flushing does not explain is judged by the
  /// reference for unchanged inputs, because the run without rounding keeps subnormal numbers.
  void note_exceeding(const ComparedOutput& compared, const Verdict& verdict) {
    const Comparison& comparison = compared.comparison;
    const TensorView &output = comparison.output, &reference = comparison.reference;
    const bool exceeded = std::ranges::any_of(verdict.failures, [](const auto& failure) {
      return failure.kind == FindingKind::ToleranceExceeded;
    });
    if (!exceeded || output.shape != reference.shape) return;
    if (!is_float(output.dtype)) return note_integers(comparison);
    const ErrorBound bound(comparison);
    const Customary customary(comparison);
    const bool declared =
        comparison.policy.error_scale != ErrorScale::Auto || !comparison.scale.empty();
    const auto count = static_cast<size_t>(element_count(output.shape));
    for (size_t i = 0; i < count; ++i) {
      const double computed = element(output, i);
      double expected = element(reference, i);
      if (!std::isfinite(computed) || !std::isfinite(expected)) continue;
      if (std::fabs(computed - expected) <= bound.at(i, expected)) continue;
      if (compared.flushed && std::isfinite(element(compared.reference, i))) {
        expected = element(compared.reference, i);
      }
      const double allowed = bound.at(i, expected), error = std::fabs(computed - expected);
      const double usual = customary.is_exact(expected, computed) ? 0 : customary.at(i, expected);
      if (values_.exceeding.elements.size() < static_cast<size_t>(kDiagnosedElementsMax)) {
        values_.exceeding.elements.push_back({comparison.output_name, i, computed, expected,
                                              allowed, usual, customary.magnitude(i), declared});
      } else if (declared || !(error <= usual)) {
        values_.exceeding.refused = true;
      }
    }
  }

  void note_integers(const Comparison& comparison) {
    constexpr double kExactSum = 0x1p53;
    if (comparison.output.dtype == DType::Bool) return;
    IntegerDifferences differences;
    double sum = 0, apart = 0, largest = 0;
    const auto count = static_cast<size_t>(element_count(comparison.output.shape));
    for (size_t i = 0; i < count; ++i) {
      if (!comparison.undefined.empty() && comparison.undefined[i] != 0) continue;
      const double by = element(comparison.output, i) - element(comparison.reference, i);
      if (by == 0) continue;
      ++differences.elements;
      sum += by;
      apart += std::fabs(by);
      largest = std::max(largest, std::fabs(by));
    }
    differences.keeps_sum = sum == 0 && apart < kExactSum;
    differences.are_far = largest > 1 && !differences.keeps_sum;
    if (differences.elements == 0) return;
    if (!is_strict(request_) && are_close_choices(comparison)) differences = {};
    if (differences.are_far && !has_tiny_inputs(comparison)) return;
    differences.apart = static_cast<uint64_t>(apart);
    values_.exceeding.integers[comparison.output_name] = differences;
  }

  /// Notes that a scale in gpuemu.toml has no effect.
  void note_scale(const Comparison& comparison) {
    const ErrorScale scale = comparison.policy.error_scale;
    if (!comparison.has_reference || !is_float(comparison.output.dtype) ||
        element_count(comparison.output.shape) == 0 || !comparison.scale.empty() ||
        scale_applies(comparison)) {
      return;
    }
    values_.remarks.insert(fmt::format(
        "error_scale '{}' does not apply to output '{}', whose bound is that of 'auto': "
        "{}; `error_scale = {{ {} = ... }}` names one for this output",
        name_of(scale), comparison.output_name, needed_for(scale), comparison.output_name));
  }

  /// Cutting bits off stays within the bound, and is seldom meant.
  void note_cut_bits(const Comparison& comparison) {
    const bool is_checked = std::ranges::count(comparison.policy.invariants,
                                               InvariantKind::Unbiased, &InvariantSpec::kind) > 0;
    if (is_checked || !cuts_bits_off(comparison)) return;
    values_.remarks.insert(fmt::format(
        "'{}' has the lower bits of the results cut off, where rounding to nearest "
        "(__float2half_rn, __float2bfloat16_rn, cvt.rn) errs half as much and in both directions; "
        "`invariants = {{ unbiased = true }}` makes that a failure",
        comparison.output_name));
  }

  static const char* needed_for(ErrorScale scale) {
    if (scale == ErrorScale::Sum) return "the first input has no row for each of its elements";
    if (scale == ErrorScale::Dot || scale == ErrorScale::Matmul) {
      return "no two inputs multiply to its shape";
    }
    return "no input has its shape";
  }

  /// Returns false if the reference does not have this output.
  Result<bool> add_reference(const ReferenceReply& reply, Comparison& comparison) {
    const std::string& name = comparison.output_name;
    const auto expected = std::ranges::find(reply.outputs, name, &ReferenceTensor::name);
    if (expected == reply.outputs.end()) {
      values_.failures.push_back(
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

  /// Replaces the reference by the right answer nearest to the output, if the op permits several.
  Status match_reference(ComparedOutput& compared) const {
    Comparison& comparison = compared.comparison;
    const auto& specs = request_.op.outputs;
    const auto spec = std::ranges::find(specs, comparison.output_name, &TensorSpec::name);
    if (spec == specs.end()) return ok_status();
    compared.matched = GPUEMU_TRY(matched_reference(*spec, comparison));
    if (!compared.matched) return ok_status();
    comparison.reference = view_of(compared.matched->tensor);
    comparison.scale = compared.matched->scale;
    return ok_status();
  }

  /// Drops the tolerance where rounding cannot be the cause of an error.
  bool drop_tolerance(Comparison& comparison) const {
    const int64_t terms = comparison.policy.accumulate_length.value_or(1);
    const bool exact = compares_exactly({request_.op, request_.plan, terms, inputs_},
                                        comparison.reference, comparison.output.dtype);
    if (exact) comparison.policy.tolerance = Tolerance();
    return exact;
  }

  void take(Verdict verdict, ComparedOutput& compared) {
    const std::string& name = compared.comparison.output_name;
    const bool fails = !verdict.failures.empty();
    for (ValidationFailure& failure : verdict.failures) {
      failure.output = name;
      if (request_.plan.outputs.size() > 1) failure.message = name + ": " + failure.message;
      values_.failures.push_back(std::move(failure));
    }
    // Written so that NaN counts as the largest difference.
    if (!(verdict.max_diff <= values_.max_diff)) values_.max_diff = verdict.max_diff;
    if (!(verdict.max_rel_diff <= values_.max_rel_diff)) {
      values_.max_rel_diff = verdict.max_rel_diff;
    }
    compared.passed = !fails;
    compared.max_diff = verdict.max_diff;
    // The statistics of a case are those of its worst output, and a failing output is worse than a
    // passing one.
    const bool worse =
        fails == statistics_fail_ ? !(verdict.bound_ratio_max <= values_.bound_ratio_max) : fails;
    values_.bound_ratio_max = std::max(values_.bound_ratio_max, verdict.bound_ratio_max);
    if ((worse || !values_.error_stats) && verdict.stats) {
      values_.error_stats = verdict.stats;
      statistics_fail_ = fails;
    }
    values_.outputs.push_back(std::move(compared));
  }

  const CaseRequest& request_;
  const BuiltPlan& built_;
  Arena& arena_;
  std::map<std::string, TensorView> inputs_;
  ComparedValues values_;
  bool statistics_fail_ = false;  ///< Whether error_stats are those of a failing output.
};

}  // namespace

Result<ComparedValues> compare_values(const CaseRequest& request, const BuiltPlan& built,
                                      Arena& arena, const ReferenceReply* reply) {
  return OutputComparer(request, built, arena).compare(reply);
}

void add_values(const ComparedValues& values, CaseReport& report) {
  ValidationResult& result = report.result;
  result.failures.insert(result.failures.end(), values.failures.begin(), values.failures.end());
  result.max_diff = values.max_diff;
  result.max_rel_diff = values.max_rel_diff;
  result.error_stats = values.error_stats;
  report.bound_ratio_max = values.bound_ratio_max;
  report.notes.insert(values.notes.begin(), values.notes.end());
  report.remarks.insert(values.remarks.begin(), values.remarks.end());
  for (const std::string& name : values.invariants) {
    if (std::ranges::find(report.relations, name) == report.relations.end()) {
      report.relations.push_back(name);
    }
  }
}

Result<Next> compare_outputs(CaseWork& work) {
  const ReferenceReply* reply = work.execution.reply();
  if (reply != nullptr && !reply->predicates.empty()) {
    const Status asked = ask_predicates(work);
    if (!asked && asked.error().code == ErrorCode::Unavailable) return asked.error();
    if (!asked) {
      work.report.result.failures.push_back(
          {.kind = FindingKind::ReferenceError, .message = asked.error().message});
      return Next::SkipValues;
    }
  }
  work.values = GPUEMU_TRY(compare_values(work.request, work.built, work.slot.arena, reply));
  if (reply != nullptr && !work.values.failures.empty()) {
    SlotReference reference(work);
    ComparedCase compared{work.request, work.built, work.slot.arena, reference, work.values};
    GPUEMU_TRY(compare_with_other_inputs(compared));
  }
  add_values(work.values, work.report);
  return Next::Continue;
}

}  // namespace gpuemu
