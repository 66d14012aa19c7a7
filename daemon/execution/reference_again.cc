#include "daemon/execution/reference_again.h"

#include <algorithm>

#include "daemon/case/arena_view.h"
#include "daemon/case/case_work.h"
#include "daemon/execution/execute_case.h"
#include "daemon/plans/execution_plan.h"
#include "daemon/schedule/slot.h"

namespace gpuemu {
namespace {

struct KeptInput {
  uint64_t offset = 0;
  Tensor values;
};

/// Writes changed inputs into the arena; returns the values that they replaced.
Result<std::vector<KeptInput>> replace_inputs(const BuiltPlan& built, Arena& arena,
                                              const NamedTensors& changed) {
  std::vector<KeptInput> kept;
  for (const PlanTensor& tensor : built.plan.tensors) {
    const auto made = changed.find(tensor.name);
    if (!is_read(tensor) || made == changed.end()) continue;
    const auto to = GPUEMU_TRY(arena.range(tensor.arena_offset, made->second.data.size()));
    kept.push_back({tensor.arena_offset, {tensor.dtype, tensor.shape, {to.begin(), to.end()}}});
    std::ranges::copy(made->second.data, to.begin());
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

Result<NamedTensors> SlotReference::of(const NamedTensors& changed) {
  Arena& arena = work_.slot.arena;
  const std::vector<KeptInput> kept = GPUEMU_TRY(replace_inputs(work_.built, arena, changed));
  const auto reply = ask_reference(work_);
  NamedTensors outputs;
  if (reply) outputs = GPUEMU_TRY(outputs_of(*reply, arena));
  GPUEMU_TRY(restore(kept, arena));
  return outputs;
}

Result<ReferenceReply> SlotReference::first() {
  auto reply = ask_reference(work_);
  // The inputs are the same, so the answers of the predicates still hold.
  if (reply) reply->accepted = work_.execution.reply()->accepted;
  return reply;
}

}  // namespace gpuemu
