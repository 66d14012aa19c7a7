#include "daemon/pipeline/relation_runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "common/base/blake2.h"
#include "common/numeric/element.h"
#include "common/rng/rng.h"
#include "daemon/pipeline/case_record.h"
#include "daemon/pipeline/case_work.h"
#include "daemon/pipeline/device_findings.h"
#include "daemon/pipeline/review_findings.h"
#include "daemon/plans/sparse_plan.h"
#include "judge/explain/moved_constants.h"
#include "judge/relations/known_properties.h"
#include "judge/relations/relation_checker.h"

namespace gpuemu {
namespace {

/// Runs the kernel on whatever the relations of a case need, on one slot.
class DerivedRuns {
 public:
  /// Outputs of the runs that count: the computed ones, those without any rounding but their own,
  /// or those as float64.
  enum class Outputs : uint8_t { Computed, Exact, Wide };
  DerivedRuns(const CaseRequest& request, Slot& slot, Outputs outputs)
      : request_(request), slot_(slot), outputs_(outputs) {}

  Result<NamedTensors> run(const DerivedCase& derived);
  /// The bounds of the runs' shadows go there, and are those of underflow alone.
  void keep_underflow(NamedTensors& bounds) { underflow_ = &bounds; }
  void nudge(uint64_t draw) { nudge_ = draw; }
  void move_constants(uint64_t draw) { moved_constants_ = draw; }

  /// Checks relations on the case with these outputs; they and this object outlive the checker. It
  /// says Cancelled where a run failed: see take_failures().
  RelationChecker checker_for(const NamedTensors& outputs);
  /// Names the relation for messages of the runs that follow.
  void begin(const InvariantSpec& spec) { relation_ = describe_relation(spec); }
  /// What the runs themselves got wrong since it was asked last, faults for example.
  std::vector<ValidationFailure> take_failures() { return std::exchange(failures_, {}); }
  /// Floats of all runs that rounding to a whole number decided by their last digits.
  uint64_t close_roundings() const { return close_roundings_; }

 private:
  /// What runs: the case's own kernel, or one of another op.
  struct Target {
    const OpConfig* op = nullptr;
    const KernelConfig* kernel = nullptr;
    const PreparedKernel* prepared = nullptr;
    std::shared_ptr<const PreparedKernel> owned;
  };
  Result<Target> target_of(const CasePlan& plan) const;
  ShadowErrors shadow_errors() const;
  Result<BuiltPlan> build(const DerivedCase& derived, const Target& target) const;
  Status upload(const DerivedCase& derived, const BuiltPlan& built);
  Status execute(const Target& target, const ExecutionPlan& plan);
  /// Keeps the finding and says so.
  Error failed(ValidationFailure finding);
  Result<NamedTensors> outputs_of(const DerivedCase& derived, const BuiltPlan& built);
  Result<NamedTensors> run_sparse(const DerivedCase& derived, const Target& target);

  const CaseRequest& request_;
  Slot& slot_;
  const Outputs outputs_;
  NamedTensors inputs_;   ///< For checker_for().
  std::string relation_;  ///< For messages.
  NamedTensors* underflow_ = nullptr;
  uint64_t nudge_ = 0, moved_constants_ = 0;
  std::vector<ValidationFailure> failures_;
  uint64_t instructions_ = 0, close_roundings_ = 0;
};

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

PlanTensor* find_tensor(ExecutionPlan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.tensors, name, &PlanTensor::name);
  return found == plan.tensors.end() ? nullptr : &*found;
}

/// The output's arguments get the input's memory; the output itself goes.
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

/// The host may have another 0.1 than the kernel.
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

ShadowErrors DerivedRuns::shadow_errors() const {
  if (underflow_ == nullptr) return ShadowErrors::All;
  const bool flushes =
      request_.op.subnormal == SubnormalPolicy::FtzOk || may_note_flushing(request_);
  return flushes ? ShadowErrors::UnderflowOrFlush : ShadowErrors::Underflow;
}

Result<BuiltPlan> DerivedRuns::build(const DerivedCase& derived, const Target& target) const {
  auto built =
      build_plan(request_.config, *target.kernel, *target.prepared, *target.op, derived.plan);
  if (!built) return built;
  ExecutionPlan& plan = built->plan;
  plan.runs = 1;
  // The case itself was checked for races and the like; only other sizes can show more of them.
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
    plan_shadow({.output = {}, .errors = shadow_errors(), .nudge = nudge_}, *built);
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
  if (!findings.empty()) return failed(std::move(findings.front()));
  return ok_status();
}

Tensor bounds_of(const Shape& shape, std::span<const ElementShadow> shadows) {
  std::vector<double> bounds(shadows.size());
  for (size_t i = 0; i < shadows.size(); ++i) {
    bounds[i] = shadows[i].known != 0 ? shadows[i].bound : 0;
  }
  Tensor made = make_tensor(DType::Float64, shape);
  narrow_from_double(DType::Float64, bounds, made.data);
  return made;
}

Result<NamedTensors> DerivedRuns::outputs_of(const DerivedCase& derived, const BuiltPlan& built) {
  GPUEMU_TRY(slot_.arena.refresh());
  NamedTensors outputs;
  for (const CaseTensor& output : derived.plan.outputs) {
    const auto planned = std::ranges::find(built.plan.tensors, output.name, &PlanTensor::name);
    Tensor tensor = make_tensor(output.dtype, output.shape);
    const auto from = GPUEMU_TRY(slot_.arena.range(planned->output_offset, tensor.data.size()));
    std::ranges::copy(from, tensor.data.begin());
    if (outputs_ != Outputs::Computed && is_float(tensor.dtype)) {
      const auto place = static_cast<size_t>(planned - built.plan.tensors.begin());
      const auto bytes = GPUEMU_TRY(
          slot_.arena.range(built.plan.shadow.offsets[place],
                            static_cast<uint64_t>(tensor.count()) * sizeof(ElementShadow)));
      const std::span shadows(reinterpret_cast<const ElementShadow*>(bytes.data()),
                              static_cast<size_t>(tensor.count()));
      if (underflow_ != nullptr) underflow_->emplace(output.name, bounds_of(tensor.shape, shadows));
      const std::vector<double> values = exact_values(view_of(tensor), shadows);
      if (outputs_ == Outputs::Wide) tensor = make_tensor(DType::Float64, tensor.shape);
      narrow_from_double(tensor.dtype, values, tensor.data);
    }
    outputs.emplace(output.name, std::move(tensor));
  }
  return outputs;
}

Result<NamedTensors> DerivedRuns::run_sparse(const DerivedCase& derived, const Target& target) {
  // Without rounding the question is the same: it is one of places.
  if (outputs_ != Outputs::Computed) {
    return error(ErrorCode::Unsupported, "a huge run has no shadows");
  }
  auto built =
      build_plan(request_.config, *target.kernel, *target.prepared, *target.op, derived.plan);
  // "i32:n" of what 32 bits cannot hold: the kernel does not take such sizes.
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

/// Whether the relation holds where nothing is rounded; nothing where that cannot be decided.
Result<std::optional<bool>> holds_exactly(const InvariantSpec& spec, CaseWork& work) {
  const NamedTensors& outputs = work.report.extras.shadows->exact_outputs;
  if (outputs.empty()) return std::optional<bool>();
  DerivedRuns exactly(work.request, work.slot, DerivedRuns::Outputs::Exact);
  const auto verdict = exactly.checker_for(outputs).check(spec);
  // A finding of a further run says nothing about the formula.
  if (!verdict && verdict.error().code == ErrorCode::Cancelled) return std::optional<bool>();
  if (!verdict) return verdict.error();
  if (!verdict->checked) return std::optional<bool>();
  return std::optional(!verdict->finding.has_value());
}

/// "1 case", "3 cases"
std::string cases_text(uint64_t count) {
  return fmt::format("{} case{}", count, count == 1 ? "" : "s");
}

struct NoteSentence {
  CaseNote note;
  const char* sentence;  ///< {}: "3 cases".
};
/// In the order in which reports show them. Other notes say nothing to the reader of a report.
constexpr NoteSentence kNoteSentences[] = {
    {CaseNote::UndefinedIntegers,
     "in {} some integers were not compared: they come from a NaN or an infinity, which no integer "
     "is"},
    {CaseNote::RedundantThreads,
     "in {} threads that Triton has do the same work raced: what they read reaches no result, and "
     "what they store differs by rounding only"},
    {CaseNote::Underflow,
     "in {} larger errors than the bound pass: without rounding the kernel gives the reference, "
     "and results too small for their type explain them"},
    {CaseNote::Flushed,
     "in {} subnormal results came out as zero: the kernel flushes them (-ftz=true, "
     "--use_fast_math); `subnormal = \"keep\"` makes that a failure"},
    {CaseNote::Masked,
     "in {} the reference is NaN or infinite where masked inputs are (0 * NaN is NaN), and the "
     "kernel has the number that does not depend on them; a written `nan_policy` makes that a "
     "failure"},
    {CaseNote::ErrorScale,
     "in {} larger errors than the bound pass: without rounding the kernel gives the reference, "
     "and the last place of its inputs moves that as much"},
    {CaseNote::NotLookedAt,
     "{} could not be run without rounding (too large, or no emulator): judged by the defaults of "
     "torch.testing.assert_close alone where the bound is exceeded"},
};

void add_note_sentences(OpTestReport& report) {
  for (const NoteSentence& row : kNoteSentences) {
    const auto found = report.relations.find(std::string(name_of(row.note)));
    if (found == report.relations.end()) continue;
    report.notes.push_back(fmt::format(fmt::runtime(row.sentence), cases_text(found->second)));
  }
}

}  // namespace

void describe_verdict(const Config& config, const OpConfig& op, OpTestReport& report) {
  const KernelConfig* kernel = config.find_kernel(report.kernel);
  if (kernel == nullptr || report.cases == 0) return;
  std::set<std::string> judges;
  for (const auto& [name, count] : report.relations) judges.insert(name);
  std::set<std::string> idle;
  for (const InvariantSpec& spec : relations_of(op, *kernel)) {
    // Cases with a finding of another kind are not asked for their relations.
    const std::string name(name_of(spec.kind));
    if (!judges.contains(name) && report.failed < report.cases) idle.insert(name);
  }
  for (const InvariantSpec& spec : invariants_of(op, *kernel)) {
    const std::string name(name_of(spec.kind));
    if (is_rarely_conclusive(spec.kind) && !judges.contains(name)) idle.insert(name);
  }
  report.no_reference = op.reference.empty();
  if (report.no_reference) {
    for (const InvariantSpec& spec : invariants_of(op, *kernel)) judges.emplace(name_of(spec.kind));
    report.unjudged = std::ranges::none_of(judges, sees_values);
    report.notes.push_back(
        fmt::format("no reference was compared; judged by {}{}what the harness and the device see",
                    fmt::join(judges, ", "), judges.empty() ? "" : " and "));
    if (!op.stub_reference.empty()) {
      report.notes.push_back(
          fmt::format("{} is not written yet: it raises NotImplementedError", op.stub_reference));
    }
  }
  add_note_sentences(report);
  if (idle.empty()) return;
  report.notes.push_back(
      fmt::format("no case could tell anything about {}: the sizes or ranges of "
                  "the op, or the device, do not allow it",
                  fmt::join(idle, ", ")));
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

Result<Next> check_relations(CaseWork& work) {
  const CaseRequest& request = work.request;
  std::vector<ValidationFailure>& failures = work.report.result.failures;
  if (!failures.empty()) return Next::Continue;
  DerivedRuns runs(request, work.slot, DerivedRuns::Outputs::Computed);
  RelationChecker checker = runs.checker_for(work.outputs);
  for (const InvariantSpec& spec : relations_of(request.op, request.kernel)) {
    runs.begin(spec);
    auto verdict = checker.check(spec);
    for (ValidationFailure& failure : runs.take_failures()) failures.push_back(std::move(failure));
    if (!verdict && verdict.error().code != ErrorCode::Cancelled) return verdict.error();
    if (verdict && !verdict->checked) continue;
    work.report.relations.emplace_back(name_of(spec.kind));
    if (!verdict || !verdict->finding) continue;
    failures.push_back(*verdict->finding);
    if (!work.wants(Extra::Shadows)) continue;
    const auto holds = GPUEMU_TRY(holds_exactly(spec, work));
    if (holds) {
      work.report.extras.shadows->properties.push_back({*verdict->finding, *holds, {}});
    }
  }
  return Next::Continue;
}

Result<NamedTensors> run_exactly(const CaseRequest& request, Slot& slot,
                                 const NamedTensors& inputs) {
  return DerivedRuns(request, slot, DerivedRuns::Outputs::Wide)
      .run({.plan = request.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}});
}

Result<NamedTensors> run_nudged(const CaseRequest& request, Slot& slot, const NamedTensors& inputs,
                                uint64_t draw) {
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  runs.nudge(draw);
  return runs.run(
      {.plan = request.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}});
}

Result<NamedTensors> run_with_moved_constants(const CaseRequest& request, Slot& slot,
                                              const NamedTensors& inputs, uint64_t draw) {
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  runs.move_constants(draw);
  return runs.run(
      {.plan = request.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}});
}

Result<uint64_t> close_roundings(const CaseRequest& request, Slot& slot) {
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  (void)GPUEMU_TRY(runs.run({.plan = request.plan,
                             .inputs = make_inputs(request.op, request.plan),
                             .in_place_input = {},
                             .in_place_output = {}}));
  return runs.close_roundings();
}

Result<ExactRun> run_for_underflow(const CaseRequest& request, Slot& slot,
                                   const NamedTensors& inputs) {
  ExactRun made;
  DerivedRuns runs(request, slot, DerivedRuns::Outputs::Wide);
  runs.keep_underflow(made.underflow);
  made.values = GPUEMU_TRY(runs.run(
      {.plan = request.plan, .inputs = inputs, .in_place_input = {}, .in_place_output = {}}));
  return made;
}

}  // namespace gpuemu
