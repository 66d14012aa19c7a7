#include "daemon/execution/derived_runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/base/blake2.h"
#include "common/config/config.h"
#include "common/numeric/element.h"
#include "common/rng/rng.h"
#include "daemon/case/case_policy.h"
#include "daemon/case/reproduction.h"
#include "daemon/execution/device_findings.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/plans/sparse_plan.h"
#include "daemon/schedule/slot.h"
#include "judge/explain/exact_comparison.h"
#include "judge/explain/moved_constants.h"

namespace gpuemu {

Result<DerivedRuns::Target> DerivedRuns::target_of(const CasePlan& plan) const {
  Target target{&request_.op, &request_.kernel, &request_.prepared, nullptr};
  if (plan.op != request_.op.name) {
    target.op = request_.config.find_op(plan.op);
    if (target.op == nullptr || !request_.find_kernel) {
      return error(ErrorCode::Unsupported, "no op '{}'", plan.op);
    }
    const ChosenKernel chosen = GPUEMU_TRY(request_.find_kernel(*target.op, plan));
    target.kernel = chosen.kernel;
    target.owned = chosen.prepared;
    target.prepared = target.owned.get();
  } else if (!GPUEMU_TRY(supports_case(request_.kernel, scope_of(request_.op, plan)))) {
    return error(ErrorCode::Unsupported, "kernel '{}' does not support this case",
                 request_.kernel.name);
  }
  if (moved_constants_ != 0) {
    auto moved = std::make_shared<PreparedKernel>(*target.prepared);
    moved->ptx = with_moved_constants(moved->ptx, moved_constants_);
    moved->key = content_hash({moved->ptx});
    target.owned = std::move(moved);
    target.prepared = target.owned.get();
  }
  return target;
}

namespace {

PlanTensor* find_tensor(ExecutionPlan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.tensors, name, &PlanTensor::name);
  return found == plan.tensors.end() ? nullptr : &*found;
}

/// Gives the output's arguments the memory of the input, and removes the output.
void share_memory(const DerivedCase& derived, ExecutionPlan& plan) {
  PlanTensor* input = find_tensor(plan, derived.in_place_input);
  PlanTensor* output = find_tensor(plan, derived.in_place_output);
  if (input == nullptr || output == nullptr) return;
  const auto shared = static_cast<int32_t>(input - plan.tensors.data());
  const auto gone = static_cast<int32_t>(output - plan.tensors.data());
  input->role = PlanTensor::Role::InOut;
  input->output_offset = output->output_offset;
  output->role = PlanTensor::Role::Scratch;
  for (PlanLaunch& launch : plan.launches) {
    for (PlanArg& arg : launch.args) {
      if (arg.tensor == gone) arg.tensor = shared;
    }
  }
}

/// Moves scalar parameters to a neighbouring value: host and kernel may round 0.1 differently.
void nudge_scalars(uint64_t draw, ExecutionPlan& plan) {
  Stream stream(draw, 0, "error_scale/scalars");
  for (PlanLaunch& launch : plan.launches) {
    for (PlanArg& arg : launch.args) {
      const bool down = stream.negative();
      float value = 0;
      if (arg.tensor >= 0 || !arg.text.starts_with("f32:") || arg.scalar.size() != sizeof value) {
        continue;
      }
      std::memcpy(&value, arg.scalar.data(), sizeof value);
      if (!was_rounded(value)) continue;
      value = std::nextafter(value, down ? -INFINITY : INFINITY);
      std::memcpy(arg.scalar.data(), &value, sizeof value);
    }
  }
}

}  // namespace

void DerivedRuns::keep_underflow(NamedTensors& bounds) {
  const bool flushes =
      request_.op.subnormal == SubnormalPolicy::FtzOk || may_note_flushing(request_);
  errors_ = flushes ? ShadowErrors::UnderflowOrFlush : ShadowErrors::Underflow;
  bounds_ = &bounds;
}

void DerivedRuns::keep_fusable(NamedTensors& bounds) {
  errors_ = ShadowErrors::Fusable;
  bounds_ = &bounds;
}

Result<BuiltPlan> DerivedRuns::build(const DerivedCase& derived, const Target& target) const {
  auto built =
      build_plan(request_.config, *target.kernel, *target.prepared, *target.op, derived.plan);
  if (!built) return built;
  ExecutionPlan& plan = built->plan;
  plan.runs = 1;
  // The case itself was checked for races and similar faults; only other sizes can reveal more.
  const bool same_sizes = derived.plan.op == request_.op.name &&
                          derived.plan.dims == request_.plan.dims && derived.launch == nullptr &&
                          derived.in_place_input.empty();
  if (same_sizes) plan.sanitize.clear();
  if (derived.launch != nullptr) {
    GPUEMU_TRY(change_launches(*derived.launch, scope_of(*target.op, derived.plan), plan));
  }
  share_memory(derived, plan);
  plan.first_order = derived.order;
  if (derived.order != ThreadOrder::InOrder) plan.order_seed = derived.order_seed;
  if (outputs_ != Outputs::Computed) {
    plan_shadow({.output = {}, .errors = errors_, .nudge = nudge_}, *built);
  }
  if (nudge_ != 0 || moved_constants_ != 0) nudge_scalars(nudge_ + moved_constants_, plan);
  return built;
}

Status DerivedRuns::upload(const DerivedCase& derived, const BuiltPlan& built) {
  GPUEMU_TRY(slot_.arena.grow(built.result_offset + 1));
  for (const PlanTensor& tensor : built.plan.tensors) {
    const auto input = derived.inputs.find(tensor.name);
    if (input == derived.inputs.end()) continue;
    const auto to = GPUEMU_TRY(slot_.arena.range(tensor.arena_offset, input->second.data.size()));
    std::ranges::copy(input->second.data, to.begin());
  }
  return ok_status();
}

Error DerivedRuns::failed(ValidationFailure finding) {
  finding.message = fmt::format("in a run for the relation {}: {}", relation_, finding.message);
  failures_.push_back(std::move(finding));
  return error(ErrorCode::Cancelled, "a run for the relation {} failed", relation_);
}

Status DerivedRuns::execute(const Target& target, const ExecutionPlan& plan) {
  WorkerSeat& worker = slot_.worker;
  const Status launched =
      worker.begin(target.prepared->key, target.prepared->name, target.prepared->ptx, plan);
  const auto report = launched ? worker.finish() : Result<ExecutionReport>(launched.error());
  if (!report && plan.sparse_launch_ms != 0 && report.error().code == ErrorCode::Unsupported) {
    return report.error();
  }
  if (!report) return failed(finding_of(report.error()));
  std::vector<ValidationFailure> findings = findings_before_values(*report);
  instructions_ += report->thread_instructions;
  close_roundings_ += report->shadow.close_roundings;
  lost_comparisons_ += report->shadow.lost_comparisons;
  if (!findings.empty()) return failed(std::move(findings.front()));
  return ok_status();
}

namespace {

Tensor bounds_of(const Shape& shape, std::span<const ElementShadow> shadows) {
  std::vector<double> bounds(shadows.size());
  for (size_t i = 0; i < shadows.size(); ++i) {
    bounds[i] = shadows[i].known != 0 ? shadows[i].bound : 0;
  }
  Tensor made = make_tensor(DType::Float64, shape);
  narrow_from_double(DType::Float64, bounds, made.data);
  return made;
}

}  // namespace

Result<NamedTensors> DerivedRuns::outputs_of(const DerivedCase& derived, const BuiltPlan& built) {
  GPUEMU_TRY(slot_.arena.refresh());
  NamedTensors outputs;
  for (const CaseTensor& output : derived.plan.outputs) {
    const auto planned = std::ranges::find(built.plan.tensors, output.name, &PlanTensor::name);
    Tensor tensor = make_tensor(output.dtype, output.shape);
    const auto from = GPUEMU_TRY(slot_.arena.range(planned->output_offset, tensor.data.size()));
    std::ranges::copy(from, tensor.data.begin());
    if (computed_ != nullptr) computed_->emplace(output.name, tensor);
    if (outputs_ != Outputs::Computed && is_float(tensor.dtype)) {
      const auto place = static_cast<size_t>(planned - built.plan.tensors.begin());
      const auto bytes = GPUEMU_TRY(
          slot_.arena.range(built.plan.shadow.offsets[place],
                            static_cast<uint64_t>(tensor.count()) * sizeof(ElementShadow)));
      const std::span shadows(reinterpret_cast<const ElementShadow*>(bytes.data()),
                              static_cast<size_t>(tensor.count()));
      if (bounds_ != nullptr) bounds_->emplace(output.name, bounds_of(tensor.shape, shadows));
      const std::vector<double> values = exact_values(view_of(tensor), shadows);
      if (outputs_ == Outputs::Wide) tensor = make_tensor(DType::Float64, tensor.shape);
      narrow_from_double(tensor.dtype, values, tensor.data);
    }
    outputs.emplace(output.name, std::move(tensor));
  }
  return outputs;
}

Result<NamedTensors> DerivedRuns::run_sparse(const DerivedCase& derived, const Target& target) {
  // Shadows are not needed: the question is where elements lie, which rounding does not change.
  if (outputs_ != Outputs::Computed) {
    return error(ErrorCode::Unsupported, "a huge run has no shadows");
  }
  auto built =
      build_plan(request_.config, *target.kernel, *target.prepared, *target.op, derived.plan);
  // An argument such as "i32:n" does not fit 32 bits: the kernel does not take such sizes.
  if (!built) return error(ErrorCode::Unsupported, "{}", built.error().message);
  repeat_tensors(derived, *built);
  GPUEMU_TRY(upload(derived, *built));
  const uint64_t before = instructions_;
  GPUEMU_TRY(execute(target, built->plan));
  GPUEMU_TRY(slot_.arena.refresh());
  GPUEMU_TRY(read_windows(*built, slot_.arena, *derived.wide_index));
  derived.wide_index->blocks_apart =
      ran_apart(*built, instructions_ - before, target.prepared->ptx);
  return NamedTensors();
}

Result<NamedTensors> DerivedRuns::run(const DerivedCase& derived) {
  const Target target = GPUEMU_TRY(target_of(derived.plan));
  if (derived.wide_index != nullptr) return run_sparse(derived, target);
  const BuiltPlan built = GPUEMU_TRY(build(derived, target));
  GPUEMU_TRY(upload(derived, built));
  GPUEMU_TRY(execute(target, built.plan));
  return outputs_of(derived, built);
}

RelationChecker DerivedRuns::checker_for(const NamedTensors& outputs) {
  inputs_ = make_inputs(request_.op, request_.plan);
  const DerivedCaseRunner runner = [this](const DerivedCase& derived) { return run(derived); };
  return RelationChecker(
      {request_.op, request_.plan, inputs_, outputs, agreement_policy(request_),
       [this](const std::string& output, DType dtype) {
         return request_.config.tolerance_for(request_.op, dtype, output);
       },
       runner, [this](const std::string& name) { return request_.config.find_op(name); }});
}

}  // namespace gpuemu
