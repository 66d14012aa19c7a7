#include "daemon/pipeline/compare_flushed.h"

#include <algorithm>
#include <array>

#include "daemon/pipeline/case_work.h"
#include "daemon/pipeline/compare_outputs.h"
#include "daemon/pipeline/execute_case.h"
#include "daemon/pipeline/review_findings.h"
#include "judge/bounds/flushed.h"

namespace gpuemu {
namespace {

constexpr std::array kStrategies = {Strategy::Tiny, Strategy::Subnormal, Strategy::Special,
                                    Strategy::MixedAdversarial, Strategy::Thresholds};

struct KeptInput {
  uint64_t offset = 0;
  Tensor values;
};

/// Writes zero for the subnormal numbers of every input; returns what was there before.
Result<std::vector<KeptInput>> flush_inputs(const BuiltPlan& built, Arena& arena) {
  std::vector<KeptInput> kept;
  for (const PlanTensor& tensor : built.plan.tensors) {
    const bool read =
        tensor.role == PlanTensor::Role::Input || tensor.role == PlanTensor::Role::InOut;
    if (!read || !is_float(tensor.dtype)) continue;
    const TensorView view =
        GPUEMU_TRY(arena_view(arena, tensor.dtype, tensor.shape, tensor.arena_offset));
    const auto made = flushed(view);
    if (!made) continue;
    kept.push_back(
        {tensor.arena_offset, {view.dtype, view.shape, {view.data.begin(), view.data.end()}}});
    const auto to = GPUEMU_TRY(arena.range(tensor.arena_offset, made->data.size()));
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

Status compare_with_flushed(CaseWork& work) {
  const BuiltPlan& built = work.built;
  Arena& arena = work.slot.arena;
  const std::vector<KeptInput> kept = GPUEMU_TRY(flush_inputs(built, arena));
  if (kept.empty()) return ok_status();
  const auto of_flushed = ask_reference(work);
  NamedTensors outputs;
  if (of_flushed) outputs = GPUEMU_TRY(outputs_of(*of_flushed, arena));
  GPUEMU_TRY(restore(kept, arena));
  // The first answer was overwritten, and its memory may lie elsewhere now.
  const auto reply = ask_reference(work);
  if (!of_flushed || !reply) {
    // A reference that fails now says nothing about the kernel.
    work.values.outputs.clear();
    return ok_status();
  }
  CaseRequest with_both = work.request;
  for (const auto& [name, tensor] : outputs) with_both.of_flushed_inputs[name] = view_of(tensor);
  ComparedValues values = GPUEMU_TRY(compare_values(with_both, built, arena, &*reply));
  if (values.failures.size() < work.values.failures.size() ||
      values.exceeding.elements.size() < work.values.exceeding.elements.size()) {
    work.values = std::move(values);
    return ok_status();
  }
  values = GPUEMU_TRY(compare_values(work.request, built, arena, &*reply));
  work.values.outputs = std::move(values.outputs);
  return ok_status();
}

}  // namespace gpuemu
