#include "daemon/pipeline/judge_flushed.h"

#include <algorithm>
#include <array>

#include "daemon/pipeline/compare_outputs.h"
#include "daemon/pipeline/review_findings.h"
#include "judge/verdict/flushed.h"

namespace gpuemu {
namespace {

constexpr std::array<std::string_view, 5> kStrategies = {"tiny", "subnormal", "special",
                                                         "mixed_adversarial", "thresholds"};

struct KeptInput {
  uint64_t offset = 0;
  Tensor values;
};

/// Writes zero for the subnormal numbers of every input; what was there before.
Result<std::vector<KeptInput>> flush_inputs(const JudgedRun& run) {
  std::vector<KeptInput> kept;
  for (const PlanTensor& tensor : run.built.plan.tensors) {
    const bool read =
        tensor.role == PlanTensor::Role::Input || tensor.role == PlanTensor::Role::InOut;
    if (!read || !is_float(tensor.dtype)) continue;
    const TensorView view =
        GPUEMU_TRY(arena_view(run.arena, tensor.dtype, tensor.shape, tensor.arena_offset));
    const auto made = flushed(view);
    if (!made) continue;
    kept.push_back(
        {tensor.arena_offset, {view.dtype, view.shape, {view.data.begin(), view.data.end()}}});
    const auto to = GPUEMU_TRY(run.arena.range(tensor.arena_offset, made->data.size()));
    std::ranges::copy(made->data, to.begin());
  }
  return kept;
}

Status restore(const std::vector<KeptInput>& kept, Arena& arena) {
  for (const KeptInput& input : kept) {
    const auto to = GPUEMU_TRY(arena.range(input.offset, input.values.data.size()));
    std::ranges::copy(input.values.data, to.begin());
  }
  return ok_status();
}

Result<ReferenceReply> ask(const JudgedRun& run) {
  auto reply = run.ask();
  if (reply) GPUEMU_TRY(run.arena.refresh());
  return reply;
}

Result<NamedTensors> outputs_of(const ReferenceReply& reply, Arena& arena) {
  NamedTensors outputs;
  for (const ReferenceTensor& tensor : reply.outputs) {
    const TensorView view =
        GPUEMU_TRY(arena_view(arena, tensor.dtype, tensor.shape, tensor.arena_offset));
    outputs[tensor.name] = {view.dtype, view.shape, {view.data.begin(), view.data.end()}};
  }
  return outputs;
}

}  // namespace

bool may_have_flushed(const CaseRequest& request) {
  return may_note_flushing(request) && !request.op.reference.empty() &&
         std::ranges::find(kStrategies, request.plan.value_strategy) != kStrategies.end();
}

Status judge_flushed(const CaseRequest& request, const JudgedRun& run, CaseOutcome before,
                     CaseOutcome& outcome) {
  const std::vector<KeptInput> kept = GPUEMU_TRY(flush_inputs(run));
  if (kept.empty()) return ok_status();
  const auto of_flushed = ask(run);
  NamedTensors outputs;
  if (of_flushed) outputs = GPUEMU_TRY(outputs_of(*of_flushed, run.arena));
  GPUEMU_TRY(restore(kept, run.arena));
  // The first answer was overwritten. A reference that fails now says nothing about the kernel.
  const auto reply = ask(run);
  if (!of_flushed || !reply) return ok_status();
  CaseRequest with_both = request;
  for (const auto& [name, tensor] : outputs) with_both.of_flushed_inputs[name] = view_of(tensor);
  GPUEMU_TRY(judge_outputs(with_both, run.built, run.arena, &*reply, before));
  if (before.result.failures.size() < outcome.result.failures.size() ||
      before.exceeding.size() < outcome.exceeding.size())
    outcome = std::move(before);
  return ok_status();
}

}  // namespace gpuemu
