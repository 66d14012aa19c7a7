// One case: fill, launch and reference side by side, compare.
#include "daemon/pipeline/case_run.h"

#include <algorithm>
#include <chrono>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/tensor/snapshot.h"
#include "daemon/pipeline/case_export.h"
#include "daemon/pipeline/compare_outputs.h"
#include "daemon/pipeline/device_findings.h"
#include "daemon/pipeline/judge_flushed.h"
#include "daemon/pipeline/relation_runs.h"
#include "daemon/pipeline/rounding_review.h"
#include "daemon/pipeline/stale_output_check.h"
#include "judge/relations/follow_up.h"
#include "judge/relations/infer.h"
#include "runtime/device/fault.h"

namespace gpuemu {
namespace {

// Inputs above this stay out of storage: they follow from the seed, the snapshot only proves it.
constexpr size_t kSnapshotBytesMax = size_t{16} << 20;

// Every n-th case of an op runs after a warmup run (ExecutionPlan::warmup), the second one first:
// what a kernel keeps between launches it keeps for all cases. Without a reference every case does.
constexpr uint64_t kWarmupEvery = 4, kWarmupFirst = 1;

using Clock = std::chrono::steady_clock;

uint64_t milliseconds_since(Clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
}

std::string shortest_number(double value) { return fmt::format("{}", value); }

/// What the kernel gets of an attr: 0.1 is another number in float32.
double as_passed(const CaseRequest& request, const std::string& name, double value) {
  const bool narrow = std::ranges::any_of(request.kernel.launches, [&](const LaunchSpec& launch) {
    return std::ranges::find(launch.args, "f32:" + name, &LaunchSpec::Arg::text) !=
           launch.args.end();
  });
  return narrow ? static_cast<double>(static_cast<float>(value)) : value;
}

ReferenceRequest reference_request(const CaseRequest& request, const BuiltPlan& built) {
  ReferenceRequest out;
  out.script = request.op.reference;
  out.process_only = request.op.reference_mode == "process";
  for (const PlanTensor& tensor : built.plan.tensors) {
    if (tensor.role == PlanTensor::Role::Input || tensor.role == PlanTensor::Role::InOut) {
      out.inputs.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.arena_offset});
    }
  }
  for (const auto& [name, value] : request.plan.dims) {
    out.kwargs[name] = std::to_string(value);
    out.integers[name] = value;
  }
  for (const auto& [name, given] : request.plan.attrs) {
    const double value = as_passed(request, name, given);
    out.kwargs[name] = shortest_number(value);
    const auto spec = std::ranges::find(request.op.attrs, name, &AttrSpec::name);
    if (spec != request.op.attrs.end() && !is_float(spec->dtype)) {
      out.integers[name] = static_cast<int64_t>(value);
    } else {
      out.numbers[name] = value;
    }
  }
  for (const CaseTensor& output : request.plan.outputs) out.output_names.push_back(output.name);
  out.want_scale = request.op.error_scale == "auto";
  out.result_offset = built.result_offset;
  out.timeout_ms = static_cast<uint64_t>(request.config.reference_timeout_s * 1000);
  out.memory_bytes = request.config.reference_memory_limit_mb << 20;
  return out;
}

Status fill_arena(const CaseRequest& request, const BuiltPlan& built, Arena& arena) {
  GPUEMU_TRY(arena.grow(built.result_offset + 1));
  for (size_t index = 0; index < request.plan.inputs.size(); ++index) {
    const CaseTensor& input = request.plan.inputs[index];
    const auto planned = std::ranges::find(built.plan.tensors, input.name, &PlanTensor::name);
    const uint64_t bytes =
        static_cast<uint64_t>(element_count(input.shape)) * byte_size(input.dtype);
    fill_input(request.op, request.plan, index,
               GPUEMU_TRY(arena.range(planned->arena_offset, bytes)));
    if (!built.plan.warmup) continue;
    fill_input(request.op, other_case(request.plan), index,
               GPUEMU_TRY(arena.range(planned->warmup_offset, bytes)));
  }
  return ok_status();
}

/// Whether some launch gets an input: without one, other inputs give the same outputs.
bool launches_take_inputs(const CaseRequest& request) {
  return std::ranges::any_of(request.kernel.launches, [&](const LaunchSpec& launch) {
    return std::ranges::any_of(launch.args, [&](const LaunchSpec::Arg& arg) {
      return arg.kind == LaunchSpec::Arg::Kind::Tensor &&
             std::ranges::find(request.plan.inputs, arg.tensor, &CaseTensor::name) !=
                 request.plan.inputs.end();
    });
  });
}

bool needs_warmup(const CaseRequest& request) {
  if (request.plan.inputs.empty()) return false;
  if (!request.op.reference.empty() && !launches_take_inputs(request)) return false;
  const uint64_t row = request.plan.iteration / std::max<size_t>(1, request.op.dtypes.size());
  return request.op.reference.empty() || row % kWarmupEvery == kWarmupFirst;
}

Status keep_outputs(const BuiltPlan& built, Arena& arena, NamedTensors& outputs) {
  for (const PlanTensor& tensor : built.plan.tensors) {
    if (tensor.role != PlanTensor::Role::Output && tensor.role != PlanTensor::Role::InOut) continue;
    const TensorView view =
        GPUEMU_TRY(arena_view(arena, tensor.dtype, tensor.shape, tensor.output_offset));
    outputs[tensor.name] = {view.dtype, view.shape, {view.data.begin(), view.data.end()}};
  }
  return ok_status();
}

/// What kernel and reference answered; the latter when the op has one.
struct SideBySide {
  Result<ExecutionReport> executed = Error{};
  std::optional<Result<ReferenceReply>> expected;
};

SideBySide execute_both(const CaseRequest& request, const BuiltPlan& built, Slot& slot) {
  SideBySide both;
  const bool refers = !request.op.reference.empty();
  // First the one that does not wait: a fresh Python starts while the worker starts and loads.
  const Status asked =
      refers ? slot.reference.begin(reference_request(request, built)) : ok_status();
  const Status launched = slot.worker.begin(request.prepared.key, request.prepared.name,
                                            request.prepared.ptx, built.plan);
  both.executed = launched ? slot.worker.finish() : Result<ExecutionReport>(launched.error());
  if (!refers) return both;
  both.expected = asked ? slot.reference.finish() : Result<ReferenceReply>(asked.error());
  if (*both.expected || both.expected->error().code != ErrorCode::Unavailable) return both;
  // Ended from outside while it started, or not to be had: the second time tells which.
  const Status again = slot.reference.begin(reference_request(request, built));
  both.expected = again ? slot.reference.finish() : Result<ReferenceReply>(again.error());
  return both;
}

/// Scripts and kernels write part of a message; its beginning and its end tell most.
void clip(std::string& message) {
  if (message.size() <= kMessageCharsMax) return;
  const size_t half = kMessageCharsMax / 2;
  message = message.substr(0, half) + " ... " + message.substr(message.size() - half);
}

LineProfile words_of(const LineCount& line) {
  const MemoryCount& memory = line.count.memory;
  LineProfile made{.file = line.file, .line = line.line};
  made.thread_instructions = line.count.threads;
  made.warp_instructions = line.count.warps;
  made.divergent_branches = line.count.divergent;
  made.global_requests = memory.global_requests;
  made.global_bytes = memory.global_bytes;
  made.global_sectors = memory.sectors;
  made.global_lines = memory.lines;
  made.shared_requests = memory.shared_requests;
  made.shared_wavefronts = memory.wavefronts;
  made.bank_conflicts = memory.bank_conflicts;
  return made;
}

/// Whether a fault kept a later launch from its turn: then the outputs are nobody's.
bool ended_early(const ExecutionReport& report, const std::vector<PlanLaunch>& launches) {
  if (launches.empty()) return false;
  const auto before_last = std::span(launches).first(launches.size() - 1);
  return std::ranges::any_of(report.device, [&](const DeviceFinding& finding) {
    return is_fault(finding) &&
           std::ranges::find(before_last, finding.entry, &PlanLaunch::entry) != before_last.end();
  });
}

/// The verdict on the outputs; on those of a failing case with subnormal inputs a second one.
Status judge_values(const CaseRequest& request, const BuiltPlan& built, const ReferenceReply* reply,
                    Slot& slot, CaseOutcome& outcome) {
  std::optional<CaseOutcome> before;
  if (reply != nullptr && may_have_flushed(request)) before = outcome;
  const size_t failures = outcome.result.failures.size();
  GPUEMU_TRY(judge_outputs(request, built, slot.arena, reply, outcome));
  if (!before || outcome.result.failures.size() == failures) return ok_status();
  const auto ask = [&]() -> Result<ReferenceReply> {
    GPUEMU_TRY(slot.reference.begin(reference_request(request, built)));
    return slot.reference.finish();
  };
  return judge_flushed(request, {built, slot.arena, ask}, *std::move(before), outcome);
}

Status judge(const CaseRequest& request, const BuiltPlan& built, const SideBySide& both, Slot& slot,
             CaseOutcome& outcome) {
  std::vector<ValidationFailure>& failures = outcome.result.failures;
  if (both.executed) {
    failures = findings_before_values(*both.executed);
    outcome.thread_instructions = both.executed->thread_instructions;
    outcome.printed = both.executed->printed;
    outcome.shadow = both.executed->shadow;
    // Hardware counts no instructions and sees no writes.
    if (outcome.thread_instructions > 0 &&
        std::ranges::find(built.plan.sanitize, "writes") != built.plan.sanitize.end())
      outcome.relations.emplace_back("written_once");
    for (const LineCount& line : both.executed->lines) outcome.profile.push_back(words_of(line));
    outcome.reached = both.executed->reached;
    if (std::ranges::any_of(both.executed->device, is_redundancy))
      outcome.relations.emplace_back(kRedundantThreads);
  } else if (both.executed.error().code == ErrorCode::Internal) {
    return both.executed.error();  // The machine's fault: it says nothing about the kernel.
  } else {
    failures.push_back(finding_of(both.executed.error()));
  }
  const bool refused = both.expected && !*both.expected;
  if (refused) {
    failures.push_back(
        {.kind = FindingKind::ReferenceError, .message = both.expected->error().message});
  }
  // What is expected can be told even where the outputs mean nothing.
  const bool is_void = outputs_are_void(failures) ||
                       (both.executed && ended_early(*both.executed, built.plan.launches));
  if (!refused && (outcome.exported || !is_void)) {
    const ReferenceReply* reply = both.expected ? &**both.expected : nullptr;
    GPUEMU_TRY(judge_values(request, built, reply, slot, outcome));
  }
  if (both.executed)
    GPUEMU_TRY(name_stale_outputs(*both.executed, built, request.prepared, slot, failures));
  if (both.executed) explain_values(failures, *both.executed);
  if (both.executed) {
    for (ValidationFailure& failure : findings_after_values(*both.executed)) {
      failures.push_back(std::move(failure));
    }
  }
  for (ValidationFailure& failure : failures) clip(failure.message);
  outcome.result.passed = failures.empty();
  return ok_status();
}

}  // namespace

size_t snapshot_bytes(const ValidationResult& result) {
  if (!result.repro_info || !result.repro_info->input_snapshot) return 0;
  return result.repro_info->input_snapshot->size();
}

NamedTensors make_inputs(const OpConfig& op, const CasePlan& plan) {
  NamedTensors inputs;
  for (size_t index = 0; index < plan.inputs.size(); ++index) {
    const CaseTensor& input = plan.inputs[index];
    Tensor tensor = make_tensor(input.dtype, input.shape);
    fill_input(op, plan, index, tensor.data);
    inputs.emplace(input.name, std::move(tensor));
  }
  return inputs;
}

ReproductionInfo reproduction_of(const CasePlan& plan, const NamedTensors& inputs) {
  ReproductionInfo info;
  info.seed = plan.case_seed;
  const CaseTensor* representative = !plan.outputs.empty()  ? &plan.outputs.front()
                                     : !plan.inputs.empty() ? &plan.inputs.front()
                                                            : nullptr;
  if (representative != nullptr) {
    info.shape = representative->shape;
    info.strides = representative->layout.strides;
  }
  info.dtype = plan.dtype;
  info.layout = layout_from_name(plan.layout).value_or(LayoutKind::Contiguous);
  info.base_seed = plan.base_seed;
  info.iteration = plan.iteration;
  info.dims = plan.dims;
  info.attrs = plan.attrs;
  info.value_strategy = plan.value_strategy;
  info.kernel = plan.kernel;
  info.value_scale = plan.value_scale;
  info.value_parameters = plan.value_parameters;
  if (!layout_from_name(plan.layout)) {
    info.layout = LayoutKind::Strided;
    info.layout_name = plan.layout;
    for (const CaseTensor& input : plan.inputs)
      info.input_strides[input.name] = input.layout.strides;
  }
  size_t bytes = 0;
  for (const auto& [name, tensor] : inputs) bytes += tensor.data.size();
  if (!inputs.empty() && bytes <= kSnapshotBytesMax) {
    if (auto snapshot = encode_legacy_snapshot(inputs)) info.input_snapshot = *std::move(snapshot);
  }
  return info;
}

namespace {

/// Stored inputs that do not fit the op as it is now.
Status check_stored(const CasePlan& plan) {
  for (const CaseTensor& input : plan.inputs) {
    const auto kept = plan.stored->find(input.name);
    if (kept != plan.stored->end() && kept->second.dtype == input.dtype &&
        kept->second.shape == input.shape) {
      continue;
    }
    return error(ErrorCode::InvalidArgument,
                 "the stored inputs of case {} do not fit op '{}' any more: '{}' is {} of {} now",
                 plan.case_seed, plan.op, input.name, name_of(input.dtype), to_string(input.shape));
  }
  return ok_status();
}

}  // namespace

Result<CasePlan> plan_from(const OpConfig& op, const ReproductionInfo& info) {
  if (!info.base_seed || !info.iteration) {
    return error(ErrorCode::InvalidArgument, "case {} was submitted by a client, not generated",
                 info.seed);
  }
  CasePlan plan;
  plan.op = op.name;
  plan.base_seed = *info.base_seed;
  plan.iteration = *info.iteration;
  plan.case_seed = info.seed;
  plan.dtype = info.dtype;
  plan.attrs = info.attrs;
  plan.layout = info.layout_name.empty() ? lower_name_of(info.layout) : info.layout_name;
  plan.value_strategy = info.value_strategy;
  plan.value_scale = info.value_scale.value_or(1.0);
  plan.value_parameters = info.value_parameters;
  plan.kernel = info.kernel;
  if (plan.value_strategy == kStoredValues) {
    if (!info.input_snapshot) {
      return error(ErrorCode::Corruption, "case {} has lost the inputs that were stored with it",
                   info.seed);
    }
    plan.stored = std::make_shared<const NamedTensors>(
        GPUEMU_TRY(decode_legacy_snapshot(*info.input_snapshot)));
    const CasePlan made = GPUEMU_TRY(with_dims(op, plan, info.dims));
    GPUEMU_TRY(check_stored(made));
    return made;
  }
  return with_dims(op, plan, info.dims);
}

Result<CaseOutcome> run_case(const CaseRequest& request, Slot& slot) {
  const auto start = Clock::now();
  CaseOutcome outcome;
  outcome.result.seed = request.plan.case_seed;
  outcome.result.op_name = request.op.name;
  outcome.kernel = request.kernel.name;
  auto built =
      build_plan(request.config, request.kernel, request.prepared, request.op, request.plan);
  if (!built) return built.error();
  built->plan.profile = request.wishes.profile;
  if (needs_warmup(request)) add_warmup(*built);
  built->plan.coverage = request.wishes.coverage;
  built->plan.coverage_lines = request.wishes.coverage_lines;
  built->plan.first_order = request.wishes.order;
  if (request.wishes.exported) outcome.exported = describe_case(request, *built);
  if (request.wishes.shadow.wanted) plan_shadow(request.wishes.shadow, *built);
  GPUEMU_TRY(fill_arena(request, *built, slot.arena));
  const SideBySide both = execute_both(request, *built, slot);
  if (slot.worker.was_cancelled()) return error(ErrorCode::Cancelled, "the case was cancelled");
  if (both.expected && !*both.expected && both.expected->error().code == ErrorCode::Unavailable) {
    return both.expected->error();
  }
  GPUEMU_TRY(slot.arena.refresh());
  GPUEMU_TRY(judge(request, *built, both, slot, outcome));
  const bool again = needs_rounding_review(request, outcome);
  if (again) GPUEMU_TRY(keep_outputs(*built, slot.arena, outcome.outputs));
  if (again) GPUEMU_TRY(review_rounding(request, slot, outcome));
  const bool relate = outcome.result.passed && !relations_of(request.op, request.kernel).empty();
  if (!again && (request.wishes.tensors || relate)) {
    GPUEMU_TRY(keep_outputs(*built, slot.arena, outcome.outputs));
  }
  if (relate) GPUEMU_TRY(check_relations(request, slot, outcome));
  if (slot.worker.was_cancelled()) return error(ErrorCode::Cancelled, "the case was cancelled");
  if (!request.wishes.tensors) outcome.outputs.clear();
  if (request.wishes.tensors || !outcome.result.passed) {
    outcome.inputs = make_inputs(request.op, request.plan);
  }
  if (!outcome.result.passed || !outcome.result.warnings.empty() || request.wishes.reproduction) {
    CasePlan named = request.plan;
    named.kernel = request.kernel.name;
    const NamedTensors none;
    outcome.result.repro_info =
        reproduction_of(named, outcome.result.passed ? none : outcome.inputs);
  }
  outcome.result.duration_ms = milliseconds_since(start);
  outcome.result.timestamp = now_seconds();
  return outcome;
}

}  // namespace gpuemu
