#include "daemon/judge_service/judged_case.h"

#include <algorithm>
#include <cmath>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "daemon/case/case_policy.h"
#include "daemon/case/case_request.h"
#include "daemon/comparison/compare_flushed.h"
#include "daemon/comparison/compare_outputs.h"
#include "daemon/comparison/review_findings.h"
#include "daemon/comparison/rounding_review.h"
#include "daemon/execution/reference_again.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/plans/execution_plan.h"
#include "daemon/schedule/slot.h"
#include "judge/bounds/conditioning.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// Sums in another order lose different parts to underflow, up to this many times as much.
constexpr double kTimesLost = 2;

/// Places tensors one after another.
class ArenaWriter {
 public:
  explicit ArenaWriter(Arena& arena) : arena_(arena) {}

  /// Returns the offset of the copy.
  Result<uint64_t> put(std::span<const std::byte> data) {
    const uint64_t at = end_;
    end_ = arena_aligned(at + data.size());
    GPUEMU_TRY(arena_.grow(end_ + 1));
    std::ranges::copy(data, GPUEMU_TRY(arena_.range(at, data.size())).begin());
    return at;
  }

 private:
  Arena& arena_;
  uint64_t end_ = 0;
};

CaseTensor case_tensor(const std::string& name, const TensorView& view) {
  return {.name = name,
          .dtype = view.dtype,
          .shape = view.shape,
          .layout = contiguous_layout(view.shape)};
}

PlanTensor plan_tensor(const std::string& name, PlanTensor::Role role, const TensorView& view) {
  PlanTensor tensor;
  tensor.name = name;
  tensor.role = role;
  tensor.dtype = view.dtype;
  tensor.shape = view.shape;
  tensor.layout = contiguous_layout(view.shape);
  return tensor;
}

/// Returns whether both are floats or both are integers: a reference may be wider than the output,
/// but must be of the same kind.
bool same_kind(const JudgedCase& judged) {
  return is_float(judged.output.dtype) == is_float(judged.reference.dtype);
}

/// Returns whether errors beyond the bound are never accepted, because the op declares how large
/// its errors may be or is strict.
bool is_settled_by_bound(const JudgedCase& judged) {
  const ErrorScale scale = judged.op.error_scale_of(kJudgedOutput);
  const bool declared =
      (scale != ErrorScale::Auto && scale != kShadowScale) || !judged.scale.empty();
  return declared || judged.op.strict.value_or(judged.config.strict);
}

NamedTensors inputs_of(const JudgedCase& judged) {
  NamedTensors inputs;
  for (const auto& [name, view] : judged.inputs) {
    inputs[name] = {view.dtype, view.shape, {view.data.begin(), view.data.end()}};
  }
  return inputs;
}

/// Returns the largest change of each element of the reference.
std::vector<double> moves_of(const JudgedCase& judged, std::span<const TensorView> neighbours) {
  const auto count = static_cast<size_t>(element_count(judged.reference.shape));
  std::vector<double> moved(count, 0.0);
  for (const TensorView& changed : neighbours) {
    if (changed.shape != judged.reference.shape) continue;
    for (size_t i = 0; i < count; ++i) {
      const double move = std::fabs(element(changed, i) - element(judged.reference, i));
      moved[i] = std::max(moved[i], std::isfinite(move) ? move : 0);
    }
  }
  return moved;
}

/// Returns whether errors beyond the bound are the only findings of the case. Elements that are not
/// listed cannot be checked.
bool may_be_conditioning(const ComparedValues& values) {
  const std::vector<ExceedingElement>& listed = values.exceeding.elements;
  const std::optional<ErrorStats>& stats = values.error_stats;
  const bool all_listed = stats && stats->num_exceeding <= listed.size();
  return all_listed && !listed.empty() &&
         std::ranges::all_of(values.failures, [](const ValidationFailure& failure) {
           return failure.kind == FindingKind::ToleranceExceeded;
         });
}

Conditioning conditioning_of(const JudgedCase& judged) {
  std::vector<Shape> inputs;
  for (const JudgedInput& input : judged.inputs) inputs.push_back(input.values.shape);
  double terms = terms_of(inputs, judged.output.shape);
  if (judged.op.accumulate) {
    const auto length = judged.op.accumulate->evaluate(scope_of(judged.op, judged.plan));
    if (length) terms = static_cast<double>(std::max<int64_t>(*length, 1));
  }
  const bool narrow = std::ranges::any_of(judged.inputs, [](const JudgedInput& input) {
    return is_float(input.values.dtype) &&
           format_of(input.values.dtype).unit > format_of(DType::Float32).unit;
  });
  return {judged.output.dtype, terms, narrow};
}

/// Whether underflow may explain an error; a reference in the dtypes of the inputs decides.
bool may_be_underflow(const JudgedCase& judged, std::span<const ExceedingElement> elements) {
  const FloatFormat& format = format_of(judged.output.dtype);
  return std::ranges::any_of(elements,
                             [&](const auto& at) { return may_be_underflow(at, format); });
}

/// Removes the elements that underflow explains: those whose error is no larger than that of
/// `narrow`, the reference in the dtypes of the inputs.
void drop_underflow(const JudgedCase& judged, const TensorView& narrow,
                    std::vector<ExceedingElement>& elements) {
  if (narrow.shape != judged.reference.shape) return;
  const FloatFormat& format = format_of(judged.output.dtype);
  std::erase_if(elements, [&](const ExceedingElement& at) {
    const double lost = std::fabs(element(narrow, at.index) - at.reference);
    return may_be_underflow(at, format) &&
           std::fabs(at.computed - at.reference) <= at.tolerance + kTimesLost * lost;
  });
}

enum class NextStep : uint8_t { Done, Draw };

/// Lets errors beyond the bound pass that conditioning explains, and with a warning those that a
/// customary test accepts. Draw: another draw may explain more.
NextStep review_rounding(const JudgedCase& judged, std::span<const TensorView> neighbours,
                         std::span<const ExceedingElement> elements, CaseReport& report) {
  const size_t draws = neighbours.size();
  if (!elements.empty() && draws < kConditioningDrawsLeast) return NextStep::Draw;
  const std::vector<double> moved = moves_of(judged, neighbours);
  const Conditioning conditioning = conditioning_of(judged);
  std::vector<const ExceedingElement*> warned;
  double largest = 0;
  for (const double move : moved) largest = std::isfinite(move) ? std::max(largest, move) : largest;
  bool may_explain = false, unexplained = false, open = false;
  for (const ExceedingElement& at : elements) {
    const double error = std::fabs(at.computed - at.reference);
    const double allowed = conditioning.allowed(moved[at.index], at.reference);
    if (error <= allowed) continue;
    const bool stayed = stayed_by_chance(moved[at.index], largest);
    const bool customary = !at.declared && error <= at.customary,
               more = stayed || may_be_explained(error, allowed);
    if (customary) warned.push_back(&at);
    if (!customary && !more && draws >= kConditioningDrawsOfHope) return NextStep::Done;
    may_explain = may_explain || more || draws < kConditioningDrawsOfHope;
    open = open || stayed || (!customary && is_nearly_explained(error, allowed));
    unexplained = unexplained || !customary;
  }
  const size_t most = open ? kConditioningDrawsForStill : kConditioningDrawsMost;
  if (may_explain && draws < most) return NextStep::Draw;
  if (!unexplained) excuse(warned, report);
  return NextStep::Done;
}

/// Whether all failures are integers that differ by 1 or keep their sum.
bool may_be_close_roundings(const ComparedValues& values) {
  return !values.exceeding.integers.empty() && values.exceeding.elements.empty() &&
         std::ranges::all_of(values.failures, [](const ValidationFailure& failure) {
           return failure.kind == FindingKind::ToleranceExceeded;
         });
}

/// Accepts integers that differ if the references of neighbouring inputs give each of them: the
/// exact value lies so close between the two that the last place decides. Returns Draw if another
/// neighbour may give the rest.
NextStep review_roundings(const JudgedCase& judged, std::span<const TensorView> neighbours,
                          CaseReport& report) {
  uint64_t others = 0, found = 0;
  for (size_t i = 0; i < static_cast<size_t>(element_count(judged.output.shape)); ++i) {
    const double computed = element(judged.output, i);
    if (computed == element(judged.reference, i)) continue;
    ++others;
    const bool has = std::ranges::any_of(neighbours, [&](const TensorView& changed) {
      return changed.shape == judged.output.shape && element(changed, i) == computed;
    });
    found += has ? 1 : 0;
  }
  if (found == others) {
    excuse({}, report);
    return NextStep::Done;
  }
  const size_t draws = neighbours.size();
  const bool hopeless = draws >= kConditioningDrawsLeast && found == 0;
  return hopeless || draws >= kConditioningDrawsForStill ? NextStep::Done : NextStep::Draw;
}

/// The case's tensors in an arena, laid out as in a daemon.
struct LaidOut {
  Arena arena;
  CasePlan plan;
  BuiltPlan built;
  ReferenceReply reply;
};

Result<LaidOut> lay_out(const JudgedCase& judged) {
  LaidOut out{GPUEMU_TRY(Arena::create()), judged.plan, {}, {}};
  ArenaWriter writer(out.arena);
  for (const JudgedInput& input : judged.inputs) {
    out.plan.inputs.push_back(case_tensor(input.name, input.values));
    PlanTensor tensor = plan_tensor(input.name, PlanTensor::Role::Input, input.values);
    tensor.arena_offset = GPUEMU_TRY(writer.put(input.values.data));
    out.built.plan.tensors.push_back(std::move(tensor));
  }
  out.plan.outputs.push_back(case_tensor(kJudgedOutput, judged.output));
  PlanTensor output = plan_tensor(kJudgedOutput, PlanTensor::Role::Output, judged.output);
  output.output_offset = GPUEMU_TRY(writer.put(judged.output.data));
  out.built.plan.tensors.push_back(std::move(output));
  out.reply.function_form = same_kind(judged);
  out.reply.outputs.push_back({kJudgedOutput, judged.reference.dtype, judged.reference.shape,
                               GPUEMU_TRY(writer.put(judged.reference.data))});
  if (!judged.scale.empty()) {
    out.reply.scales.push_back({kJudgedOutput, DType::Float64, judged.reference.shape,
                                GPUEMU_TRY(writer.put(std::as_bytes(judged.scale)))});
  }
  return out;
}

/// Returns the reference's answers that came with the request, in the order in which the verdict
/// needs them. When they run out, stores the inputs of the next one in wanted() and returns an
/// error, which ends the verdict.
class AnswersSoFar final : public ReferenceAgain {
 public:
  AnswersSoFar(const JudgedCase& judged, const LaidOut& laid)
      : judged_(judged), laid_(laid), rest_(judged.changed) {}

  Result<NamedTensors> of(const NamedTensors& changed) override {
    if (rest_.empty()) {
      wanted_ = inputs_of(judged_);
      for (const auto& [name, tensor] : changed) wanted_[name] = tensor;
      return error(ErrorCode::Unavailable, "the reference of the changed inputs is not known yet");
    }
    const TensorView answer = rest_.front();
    rest_ = rest_.subspan(1);
    NamedTensors outputs;
    outputs[kJudgedOutput] = {answer.dtype, answer.shape, {answer.data.begin(), answer.data.end()}};
    return outputs;
  }
  Result<ReferenceReply> first() override { return laid_.reply; }

  /// The inputs of the missing answer; empty if none is missing.
  const NamedTensors& wanted() const { return wanted_; }
  /// The answers not used so far: those for neighbouring inputs.
  std::span<const TensorView> rest() const { return rest_; }

 private:
  const JudgedCase& judged_;
  const LaidOut& laid_;
  std::span<const TensorView> rest_;
  NamedTensors wanted_;
};

/// Accepts errors that rounding explains, using `answers`, the references of neighbouring inputs.
/// If another answer may explain more, requests it in `made`.
void review(const JudgedCase& judged, const ComparedValues& values,
            std::span<const TensorView> answers, CaseReport& report, Judgement& made) {
  if (judged.inputs.empty() || is_settled_by_bound(judged)) return;
  NextStep next = NextStep::Done;
  if (may_be_conditioning(values)) {
    std::vector<ExceedingElement> elements = values.exceeding.elements;
    if (may_be_underflow(judged, elements)) {
      if (answers.empty()) {
        made.wanted = inputs_of(judged);
        made.narrow = true;
        return;
      }
      drop_underflow(judged, answers.front(), elements);
      answers = answers.subspan(1);
    }
    next = review_rounding(judged, answers, elements, report);
  } else if (may_be_close_roundings(values)) {
    next = review_roundings(judged, answers, report);
  }
  if (next != NextStep::Draw) return;
  const CasePlan& plan = judged.plan;
  made.wanted = neighbours_of(inputs_of(judged), {plan.base_seed, plan.iteration}, answers.size());
}

}  // namespace

Result<Judgement> judge_case(const JudgedCase& judged) {
  LaidOut laid = GPUEMU_TRY(lay_out(judged));
  const CasePlan& plan = laid.plan;
  const KernelConfig kernel;
  const PreparedKernel prepared;
  const CaseRequest request{judged.config, judged.op, kernel, prepared, plan};
  ComparedValues values = GPUEMU_TRY(compare_values(request, laid.built, laid.arena, &laid.reply));
  AnswersSoFar answers(judged, laid);
  ComparedCase compared{request, laid.built, laid.arena, answers, values};
  const Status again = compare_with_other_inputs(compared);
  if (!again && answers.wanted().empty()) return again.error();
  Judgement made;
  made.wanted = answers.wanted();
  CaseReport report;
  report.result.seed = plan.case_seed;
  report.result.op_name = judged.op.name;
  report.result.timestamp = now_seconds();
  add_values(values, report);
  if (!made.wanted.empty()) {
    made.result = std::move(report.result);
    made.result.passed = false;
    return made;
  }
  if (is_strict(request)) explain_strictness(values.exceeding, report);
  review(judged, values, answers.rest(), report, made);
  made.flushed = report.notes.contains(CaseNote::Flushed);
  report.result.passed = report.result.failures.empty();
  made.result = std::move(report.result);
  return made;
}

}  // namespace gpuemu
