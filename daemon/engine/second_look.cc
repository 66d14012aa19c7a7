#include "daemon/engine/second_look.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/service_limits.h"
#include "common/numeric/element.h"
#include "common/rng/rng.h"
#include "daemon/engine/follow_ups.h"
#include "daemon/validate/formats.h"

namespace gpuemu {
namespace {

constexpr const char* kRelation = "error_scale";
/// Draws of changed inputs. One alone may leave an element where it was by chance.
constexpr uint64_t kDraws = 2;
/// Roundings inside a kernel are as many as its terms, a change of the inputs is one per term.
constexpr double kTimesSensitivity = 8;
/// Within so many units in the last place no input has to be blamed.
constexpr double kOrdinaryUlps = 16;
/// A division by less than its inverse is none that results rounded to nothing come from.
constexpr double kAmplifiedMost = 0x1p50;

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
                                       fmt::format("{}/{}/{}", kRelation, name, draw)));
  }
  return inputs;
}

/// What the exact result of every output does under the changes.
class Sensitivity {
 public:
  static Result<Sensitivity> of(const CaseRequest& request, CaseMachine machine) {
    Sensitivity made;
    made.exact_ = GPUEMU_TRY(run_exactly(request, machine, make_inputs(request.op, request.plan)));
    for (uint64_t draw = 0; draw < kDraws; ++draw)
      made.changed_.push_back(
          GPUEMU_TRY(run_exactly(request, machine, changed_inputs(request, draw))));
    return made;
  }

  bool excuses(const DoubtfulElement& at, DType dtype) const {
    const auto exact = exact_.find(at.output);
    if (exact == exact_.end()) return false;
    const double value = element(view_of(exact->second), at.index);
    double moved = 0;
    for (const NamedTensors& changed : changed_)
      moved = std::max(moved, std::fabs(element(view_of(changed.at(at.output)), at.index) - value));
    const double allowed =
        std::max(kTimesSensitivity * moved, kOrdinaryUlps * ulp_at(format_of(dtype), value));
    // Written so that NaN excuses nothing.
    return std::fabs(value - at.reference) <= at.tolerance &&
           std::fabs(at.computed - value) <= allowed;
  }

 private:
  NamedTensors exact_;
  std::vector<NamedTensors> changed_;
};

DType dtype_of(const CasePlan& plan, const std::string& output) {
  const auto found = std::ranges::find(plan.outputs, output, &CaseTensor::name);
  return found == plan.outputs.end() ? plan.dtype : found->dtype;
}

bool may_be_underflow(const CaseRequest& request, const CaseOutcome& outcome) {
  return std::ranges::all_of(outcome.doubtful, [&](const DoubtfulElement& at) {
    const double smallest = format_of(dtype_of(request.plan, at.output)).min_subnormal;
    return std::fabs(at.computed - at.reference) <= kAmplifiedMost * smallest;
  });
}

/// Written so that NaN excuses nothing.
bool excuses(const ExactRun& exactly, const DoubtfulElement& at) {
  const auto value = exactly.values.find(at.output), bound = exactly.underflow.find(at.output);
  if (value == exactly.values.end() || bound == exactly.underflow.end()) return false;
  const double exact = element(view_of(value->second), at.index);
  const double lost = element(view_of(bound->second), at.index);
  return std::isfinite(lost) && std::fabs(exact - at.reference) <= at.tolerance &&
         std::fabs(at.computed - exact) <= at.tolerance + lost;
}

Result<bool> is_underflow(const CaseRequest& request, CaseMachine machine,
                          const CaseOutcome& outcome) {
  if (!may_be_underflow(request, outcome)) return false;
  const auto exactly = run_for_underflow(request, machine, make_inputs(request.op, request.plan));
  // A further run that fails says nothing about the first.
  if (!exactly && exactly.error().code == ErrorCode::Cancelled) return false;
  if (!exactly) return exactly.error();
  return std::ranges::all_of(outcome.doubtful,
                             [&](const DoubtfulElement& at) { return excuses(*exactly, at); });
}

Result<bool> is_conditioning(const CaseRequest& request, CaseMachine machine,
                             const CaseOutcome& outcome) {
  if (request.op.error_scale != kShadowScale) return false;
  const auto sensitivity = Sensitivity::of(request, machine);
  if (!sensitivity && sensitivity.error().code == ErrorCode::Cancelled) return false;
  if (!sensitivity) return sensitivity.error();
  return std::ranges::all_of(outcome.doubtful, [&](const DoubtfulElement& at) {
    return sensitivity->excuses(at, dtype_of(request.plan, at.output));
  });
}

void excuse(const char* reason, CaseOutcome& outcome) {
  outcome.result.failures.clear();
  outcome.result.passed = true;
  outcome.worst_use = std::min(outcome.worst_use, 1.0);
  outcome.relations.emplace_back(reason);
}

/// Whether the device is the emulator: hardware counts no instructions.
bool has_shadows(const CaseOutcome& outcome) { return outcome.thread_instructions > 0; }

Status look_again_on(const CaseRequest& request, CaseMachine machine, CaseOutcome& outcome) {
  if (GPUEMU_TRY(is_underflow(request, machine, outcome))) {
    excuse(kUnderflow, outcome);
  } else if (GPUEMU_TRY(is_conditioning(request, machine, outcome))) {
    excuse("error_scale", outcome);
  }
  return ok_status();
}

}  // namespace

bool wants_second_look(const CaseRequest& request, const CaseOutcome& outcome) {
  if (request.wishes.shadow.wanted) return false;
  if (!has_shadows(outcome) && !request.emulator_lane) return false;
  if (outcome.doubtful.empty()) return false;
  if (request.op.error_scale != kShadowScale && !may_be_underflow(request, outcome)) return false;
  const bool others = std::ranges::any_of(outcome.result.failures, [&](const auto& failure) {
    // One of integers, or of sums that have to be exact, is in no doubt.
    return failure.kind != FindingKind::ToleranceExceeded ||
           std::ranges::find(outcome.doubtful, failure.output, &DoubtfulElement::output) ==
               outcome.doubtful.end();
  });
  int64_t elements = 0;
  for (const auto* tensors : {&request.plan.inputs, &request.plan.outputs})
    for (const CaseTensor& tensor : *tensors) elements += element_count(tensor.shape);
  return !others && elements <= kDiagnosedElementsMax;
}

Status look_again(const CaseRequest& request, CaseMachine machine, CaseOutcome& outcome) {
  if (has_shadows(outcome)) return look_again_on(request, machine, outcome);
  auto lease = request.emulator_lane();
  // A machine that cannot emulate has no second opinion.
  if (!lease) return ok_status();
  Lane& lane = **lease;
  return look_again_on(request, {lane.arena, lane.worker, lane.reference}, outcome);
}

}  // namespace gpuemu
