#include "daemon/judge_service/judged_case.h"

#include <algorithm>
#include <cmath>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "daemon/pipeline/compare_flushed.h"
#include "daemon/pipeline/compare_outputs.h"
#include "daemon/pipeline/review_findings.h"
#include "daemon/pipeline/rounding_review.h"
#include "judge/bounds/conditioning.h"
#include "judge/bounds/float_format.h"
#include "judge/bounds/flushed.h"
#include "judge/verdict/masked.h"

namespace gpuemu {
namespace {

constexpr uint64_t kArenaAlignment = 64;

/// Puts tensors one behind the other.
class ArenaWriter {
 public:
  explicit ArenaWriter(Arena& arena) : arena_(arena) {}

  /// Where it lies.
  Result<uint64_t> put(std::span<const std::byte> data) {
    const uint64_t at = end_;
    end_ = (at + data.size() + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
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

/// Floats stand for floats and integers for integers: a reference is wider than the output, and of
/// its kind.
bool same_kind(const JudgedCase& judged) {
  return is_float(judged.output.dtype) == is_float(judged.reference.dtype);
}

/// Whether nothing beyond the bound passes: the op says how large its errors may be, or is strict.
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

/// The inputs with zero for subnormal numbers; empty when they have none.
NamedTensors flushed_inputs_of(const JudgedCase& judged) {
  NamedTensors inputs = inputs_of(judged);
  bool changed = false;
  for (auto& [name, tensor] : inputs) {
    auto made = flushed(view_of(tensor));
    if (!made) continue;
    tensor = *std::move(made);
    changed = true;
  }
  return changed ? inputs : NamedTensors();
}

std::map<std::string, TensorView> input_views(const JudgedCase& judged) {
  std::map<std::string, TensorView> inputs;
  for (const auto& [name, view] : judged.inputs) inputs[name] = view;
  return inputs;
}

/// The largest change of each element of the reference.
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

/// Whether errors beyond the bound are all that is wrong with the case. Elements that are not
/// listed cannot be looked at.
bool may_be_conditioning(const ComparedValues& values) {
  const std::vector<ExceedingElement>& listed = values.exceeding.elements;
  const std::optional<ErrorStats>& stats = values.error_stats;
  const bool all_listed = stats && stats->num_exceeding <= listed.size();
  return all_listed && !listed.empty() &&
         std::ranges::all_of(values.failures, [](const ValidationFailure& failure) {
           return failure.kind == FindingKind::ToleranceExceeded;
         });
}

Conditioning conditioning_of(const JudgedCase& judged, const CasePlan& plan) {
  std::vector<Shape> inputs;
  for (const JudgedInput& input : judged.inputs) inputs.push_back(input.values.shape);
  double terms = terms_of(inputs, judged.output.shape);
  if (judged.op.accumulate) {
    const auto length = judged.op.accumulate->evaluate(scope_of(judged.op, plan));
    if (length) terms = static_cast<double>(std::max<int64_t>(*length, 1));
  }
  return {judged.output.dtype, terms};
}

enum class NextStep : uint8_t { Done, Draw };

/// Lets errors beyond the bound pass that conditioning explains, and with a warning those that a
/// customary test accepts. Draw: another draw may explain more.
NextStep review_rounding(const JudgedCase& judged, const CasePlan& plan,
                         std::span<const TensorView> neighbours, const Exceeding& exceeding,
                         CaseReport& report) {
  const size_t draws = neighbours.size();
  if (draws < kConditioningDrawsLeast) return NextStep::Draw;
  const std::vector<double> moved = moves_of(judged, neighbours);
  const Conditioning conditioning = conditioning_of(judged, plan);
  std::vector<const ExceedingElement*> warned;
  double largest = 0;
  for (const double move : moved) largest = std::isfinite(move) ? std::max(largest, move) : largest;
  bool may_explain = false, unexplained = false, still = false;
  for (const ExceedingElement& at : exceeding.elements) {
    const double error = std::fabs(at.computed - at.reference);
    const double allowed = conditioning.allowed(moved[at.index], at.reference);
    if (error <= allowed) continue;
    const bool stayed = stayed_by_chance(moved[at.index], largest);
    const bool customary = !at.declared && error <= at.customary,
               more = stayed || may_be_explained(error, allowed);
    if (customary) warned.push_back(&at);
    if (!customary && !more) return NextStep::Done;
    may_explain = may_explain || more;
    still = still || stayed;
    unexplained = unexplained || !customary;
  }
  const size_t most = still ? kConditioningDrawsForStill : kConditioningDrawsMost;
  if (may_explain && draws < most) return NextStep::Draw;
  if (!unexplained) excuse(warned, report);
  return NextStep::Done;
}

/// The case's tensors in an arena, as a daemon has them.
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

/// A verdict with the references of changed inputs, which come in the order in which it wants them.
class Verdicts {
 public:
  Verdicts(const JudgedCase& judged, LaidOut& laid, CaseRequest& request)
      : judged_(judged), laid_(laid), request_(request), rest_(judged.changed) {}

  /// The inputs whose reference is wanted; empty when values() is the verdict.
  Result<NamedTensors> judge() {
    GPUEMU_TRY(judge_once());
    if (may_have_masked(request_, values_.failures)) {
      const auto inputs = input_views(judged_);
      const size_t draws = masked_draws(inputs);
      if (rest_.size() < draws) {
        return finite_inputs(inputs, declared_ranges(judged_.op),
                             {laid_.plan.base_seed, laid_.plan.iteration}, rest_.size());
      }
      if (draws > 0) {
        const auto answers = rest_.first(draws);
        request_.of_finite_inputs[kJudgedOutput] = {answers.begin(), answers.end()};
        rest_ = rest_.subspan(draws);
        GPUEMU_TRY(judge_once());
      }
    }
    if (values_.failures.empty() || !may_note_flushing(request_)) return NamedTensors();
    NamedTensors wanted = flushed_inputs_of(judged_);
    if (wanted.empty() || rest_.empty()) return wanted;
    request_.of_flushed_inputs[kJudgedOutput] = rest_.front();
    rest_ = rest_.subspan(1);
    GPUEMU_TRY(judge_once());
    return NamedTensors();
  }

  const ComparedValues& values() const { return values_; }
  /// The references that are left: those of neighbours of the inputs.
  std::span<const TensorView> neighbours() const { return rest_; }

 private:
  Status judge_once() {
    values_ = GPUEMU_TRY(compare_values(request_, laid_.built, laid_.arena, &laid_.reply));
    return ok_status();
  }

  const JudgedCase& judged_;
  LaidOut& laid_;
  CaseRequest& request_;
  std::span<const TensorView> rest_;
  ComparedValues values_;
};

}  // namespace

Result<Judgement> judge_case(const JudgedCase& judged) {
  LaidOut laid = GPUEMU_TRY(lay_out(judged));
  const CasePlan& plan = laid.plan;
  const KernelConfig kernel;
  const PreparedKernel prepared;
  CaseRequest request{judged.config, judged.op, kernel, prepared, plan};
  Verdicts verdicts(judged, laid, request);
  Judgement made;
  made.wanted = GPUEMU_TRY(verdicts.judge());
  CaseReport report;
  report.result.seed = plan.case_seed;
  report.result.op_name = judged.op.name;
  report.result.timestamp = now_seconds();
  const ComparedValues& values = verdicts.values();
  add_values(values, report);
  if (!made.wanted.empty()) {
    made.result = std::move(report.result);
    made.result.passed = false;
    return made;
  }
  if (is_strict(request)) explain_strictness(values.exceeding, report);
  const std::span<const TensorView> neighbours = verdicts.neighbours();
  if (!judged.inputs.empty() && !is_settled_by_bound(judged) && may_be_conditioning(values)) {
    if (review_rounding(judged, plan, neighbours, values.exceeding, report) == NextStep::Draw) {
      made.wanted =
          neighbours_of(inputs_of(judged), {plan.base_seed, plan.iteration}, neighbours.size());
    }
  }
  made.flushed = report.notes.contains(CaseNote::Flushed);
  report.result.passed = report.result.failures.empty();
  made.result = std::move(report.result);
  return made;
}

}  // namespace gpuemu
