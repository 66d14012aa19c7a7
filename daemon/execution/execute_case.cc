#include "daemon/execution/execute_case.h"

#include <algorithm>
#include <utility>

#include "common/config/config.h"
#include "common/numeric/element.h"
#include "daemon/case/case_work.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/schedule/slot.h"
#include "judge/cases/case.h"

namespace gpuemu {
namespace {

std::string shortest_number(double value) { return fmt::format("{}", value); }

/// Returns the real-valued argument that is exactly this attr, also within a structure; null if
/// there is none.
const LaunchSpec::Arg* find_real(const std::vector<LaunchSpec::Arg>& args,
                                 const std::string& name) {
  for (const LaunchSpec::Arg& arg : args) {
    const bool real = arg.kind == LaunchSpec::Arg::Kind::Number && is_float(arg.dtype);
    if (real && arg.value->text() == name) return &arg;
    if (const LaunchSpec::Arg* member = find_real(arg.members, name)) return member;
  }
  return nullptr;
}

/// Returns an attr's value as the kernel gets it: 0.1 is a different number in float32.
double as_passed(const CaseRequest& request, const std::string& name, double value) {
  for (const LaunchSpec& launch : request.kernel.launches) {
    const LaunchSpec::Arg* arg = find_real(launch.args, name);
    if (arg != nullptr && arg->dtype != DType::Float64) return round_to(arg->dtype, value);
  }
  return value;
}

ReferenceRequest reference_request(const CaseRequest& request, const BuiltPlan& built) {
  ReferenceRequest out;
  out.script = request.op.reference;
  out.function = request.op.reference_function;
  out.process_only = request.op.reference_mode == ReferenceMode::Process;
  for (const PlanTensor& tensor : built.plan.tensors) {
    if (is_read(tensor)) {
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
  out.want_scale = request.op.error_scale == ErrorScale::Auto;
  out.may_judge = true;
  out.result_offset = built.result_offset;
  out.timeout_ms = static_cast<uint64_t>(request.config.reference_timeout_s * 1000);
  out.memory_bytes = request.config.reference_memory_limit_mb << 20;
  return out;
}

/// Returns where the memory that the reference has written ends; it may have grown the arena.
uint64_t end_of(const ReferenceReply& reply) {
  uint64_t end = 0;
  for (const auto* written : {&reply.outputs, &reply.scales}) {
    for (const ReferenceTensor& tensor : *written) {
      end = std::max(end, tensor.arena_offset + packed_bytes(tensor.dtype, tensor.shape));
    }
  }
  return end;
}

/// Waits for the answer. Tries a second time if Python was killed from outside while it started, or
/// could not be started; the second error then says which.
Result<ReferenceReply> finish_reference(CaseWork& work, const Status& asked) {
  ReferenceSeat& reference = work.slot.reference;
  auto reply = asked ? reference.finish() : Result<ReferenceReply>(asked.error());
  if (reply || reply.error().code != ErrorCode::Unavailable) return reply;
  const Status again = reference.begin(reference_request(work.request, work.built));
  return again ? reference.finish() : Result<ReferenceReply>(again.error());
}

}  // namespace

void ask_for_expected(CaseWork& work) {
  if (work.execution.asked || work.request.op.reference.empty()) return;
  work.execution.asked = work.slot.reference.begin(reference_request(work.request, work.built));
}

void launch(CaseWork& work) {
  if (work.execution.launched) return;
  const PreparedKernel& kernel = work.request.prepared;
  work.execution.launched =
      work.slot.worker.begin(kernel.key, kernel.name, kernel.ptx, work.built.plan);
}

void abandon(CaseWork& work) {
  Execution& execution = work.execution;
  if (std::exchange(execution.launched, std::nullopt).value_or(Error{}).ok()) {
    static_cast<void>(work.slot.worker.finish());
  }
  if (std::exchange(execution.asked, std::nullopt).value_or(Error{}).ok()) {
    static_cast<void>(work.slot.reference.finish());
  }
}

Result<Next> execute(CaseWork& work) {
  Execution& execution = work.execution;
  // The reference begins first, because it does not wait: a fresh Python starts while the worker
  // starts and loads.
  ask_for_expected(work);
  launch(work);
  const Status launched = *std::exchange(execution.launched, std::nullopt);
  execution.kernel =
      launched ? work.slot.worker.finish() : Result<ExecutionReport>(launched.error());
  if (const auto asked = std::exchange(execution.asked, std::nullopt)) {
    execution.reference = finish_reference(work, *asked);
  }
  const auto& reference = execution.reference;
  if (reference && !*reference && reference->error().code == ErrorCode::Unavailable) {
    return reference->error();
  }
  if (reference && *reference) GPUEMU_TRY(work.slot.arena.reach(end_of(**reference)));
  if (!execution.kernel && execution.kernel.error().code == ErrorCode::Internal) {
    return execution.kernel.error();  // A fault of the host says nothing about the kernel.
  }
  return Next::Continue;
}

Status ask_predicates(CaseWork& work) {
  ReferenceReply& first = **work.execution.reference;
  ReferenceRequest request = reference_request(work.request, work.built);
  request.want_scale = false;
  request.result_offset = std::max(request.result_offset, end_of(first));
  for (const PlanTensor& tensor : work.built.plan.tensors) {
    if (std::ranges::find(first.predicates, tensor.name) == first.predicates.end()) continue;
    request.judged.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.output_offset});
  }
  GPUEMU_TRY(work.slot.reference.begin(std::move(request)));
  const ReferenceReply said = GPUEMU_TRY(work.slot.reference.finish());
  GPUEMU_TRY(work.slot.arena.reach(end_of(said)));
  for (const ReferenceTensor& tensor : said.outputs) {
    const auto bytes = GPUEMU_TRY(work.slot.arena.range(
        tensor.arena_offset, static_cast<uint64_t>(element_count(tensor.shape))));
    std::vector<uint8_t>& accepted = first.accepted[tensor.name];
    for (const std::byte one : bytes) accepted.push_back(static_cast<uint8_t>(one));
  }
  return ok_status();
}

Result<ReferenceReply> ask_reference(CaseWork& work) {
  GPUEMU_TRY(work.slot.reference.begin(reference_request(work.request, work.built)));
  auto reply = work.slot.reference.finish();
  if (reply) GPUEMU_TRY(work.slot.arena.reach(end_of(*reply)));
  return reply;
}

}  // namespace gpuemu
