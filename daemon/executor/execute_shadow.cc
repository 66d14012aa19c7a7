#include "daemon/executor/execute_shadow.h"

#include <algorithm>
#include <cstring>

namespace gpuemu {
namespace {

/// Returns whether the tensor's elements have shadows; in the order of ShadowConfig::regions.
bool has_shadow(const PlanTensor& tensor) {
  return is_written(tensor) && is_float(tensor.dtype) && byte_size(tensor.dtype) >= 2;
}

/// Returns the place of element number `flat` in the tensor's buffer, in elements.
int64_t place_of(const PlanTensor& tensor, int64_t flat) {
  int64_t place = tensor.layout.offset_elements;
  for (size_t axis = tensor.shape.size(); axis-- > 0;) {
    place += flat % tensor.shape[axis] * tensor.layout.strides[axis];
    flat /= tensor.shape[axis];
  }
  return place;
}

Status write_elements(const PlanTensor& tensor, const std::vector<ShadowElement>& from,
                      uint64_t offset, Arena& arena) {
  const auto count = static_cast<uint64_t>(element_count(tensor.shape));
  const auto to = GPUEMU_TRY(arena.range(offset, count * sizeof(ElementShadow)));
  for (uint64_t i = 0; i < count; ++i) {
    const auto place = static_cast<size_t>(place_of(tensor, static_cast<int64_t>(i)));
    if (place >= from.size()) continue;
    const ShadowElement& known = from[place];
    const ElementShadow made{known.high, known.low, known.bound, known.block,
                             known.known ? 1u : 0u};
    std::memcpy(to.data() + i * sizeof made, &made, sizeof made);
  }
  return ok_status();
}

void replace(std::vector<ShadowStep>& with, const std::optional<ShadowStep>& step) {
  with.clear();
  if (step) with.push_back(*step);
}
}  // namespace

std::shared_ptr<const ShadowConfig> shadow_config(const ExecutionPlan& plan,
                                                  const std::vector<ExecuteBuffer>& buffers) {
  auto made = std::make_shared<ShadowConfig>();
  made->errors = plan.shadow.errors;
  made->nudge = plan.shadow.nudge;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    if (!has_shadow(tensor)) continue;
    const auto bytes = static_cast<uint32_t>(byte_size(tensor.dtype));
    made->regions.push_back(
        {buffers[i].address(), static_cast<uint64_t>(tensor.layout.buffer_elements), bytes});
    if (plan.shadow.tensor != static_cast<int32_t>(i)) continue;
    const auto place = static_cast<uint64_t>(place_of(tensor, plan.shadow.element));
    made->target = {buffers[i].address() + place * bytes, bytes, plan.shadow.block};
  }
  return made;
}

Status keep_shadow(const ShadowReport* answer, const DeviceProperties& device,
                   const ExecutionPlan& plan, Arena& arena, ExecutionReport& report) {
  if (answer == nullptr) {
    return error(ErrorCode::Unsupported,
                 "the backend '{}' has no shadow execution; run the daemon with "
                 "backend = \"emulator\" under [runtime]",
                 device.backend);
  }
  size_t region = 0;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (!has_shadow(plan.tensors[i])) continue;
    if (i < plan.shadow.offsets.size() && region < answer->regions.size()) {
      GPUEMU_TRY(
          write_elements(plan.tensors[i], answer->regions[region], plan.shadow.offsets[i], arena));
    }
    ++region;
  }
  ExecutionShadow& kept = report.shadow;
  if (kept.divergence.empty()) replace(kept.divergence, answer->divergence);
  if (kept.other_decision.empty()) replace(kept.other_decision, answer->first_other_decision);
  if (answer->origin || kept.origin.empty()) replace(kept.origin, answer->origin);
  if (!answer->slice.empty()) kept.slice = answer->slice;
  kept.other_decisions += answer->other_decisions;
  kept.close_roundings += answer->close_roundings;
  kept.lost_comparisons += answer->lost_comparisons;
  kept.complete = kept.complete && answer->complete;
  return ok_status();
}

}  // namespace gpuemu
