#include "daemon/executor/module_variables.h"

#include <algorithm>

#include "daemon/executor/execute_buffer.h"

namespace gpuemu {
namespace {

Result<std::vector<std::byte>> value_of(const PlanVariable& variable, Arena& arena,
                                        const ExecutionPlan& plan, bool warmup) {
  const PlanArg& value = variable.value;
  if (value.tensor < 0) return value.scalar;
  if (static_cast<size_t>(value.tensor) >= plan.tensors.size()) {
    return error(ErrorCode::InvalidArgument, "variable '{}' names tensor {} of {}", variable.name,
                 value.tensor, plan.tensors.size());
  }
  const PlanTensor& tensor = plan.tensors[static_cast<size_t>(value.tensor)];
  const uint64_t bytes = packed_bytes(tensor.dtype, tensor.shape);
  const auto packed =
      GPUEMU_TRY(arena.range(warmup ? tensor.warmup_offset : tensor.arena_offset, bytes));
  return std::vector<std::byte>(packed.begin(), packed.end());
}

}  // namespace

Result<std::vector<std::byte>> variable_image(const PlanVariable& variable, Arena& arena,
                                              const ExecutionPlan& plan, uint32_t run,
                                              bool warmup) {
  const auto value = GPUEMU_TRY(value_of(variable, arena, plan, warmup));
  std::vector<std::byte> image = variable.initial;
  if (value.size() > image.size()) {
    return error(ErrorCode::InvalidArgument, "variable '{}' has {} bytes, its value has {}",
                 variable.name, image.size(), value.size());
  }
  for (size_t i = 0; variable.starts_undefined && i < image.size(); ++i) {
    image[i] = poison_byte(run, i);
  }
  std::ranges::copy(value, image.begin());
  return image;
}

Status set_variables(const LoadedModule& loaded, Arena& arena, const ExecutionPlan& plan,
                     uint32_t run, bool warmup) {
  for (const PlanVariable& variable : plan.variables) {
    const auto image = GPUEMU_TRY(variable_image(variable, arena, plan, run, warmup));
    if (image.empty()) continue;
    const ModuleVariable at = GPUEMU_TRY(loaded.device.variable(loaded.module, variable.name));
    GPUEMU_TRY(loaded.device.upload(at.address, image));
    const auto set = GPUEMU_TRY(value_of(variable, arena, plan, warmup)).size();
    if (!variable.starts_undefined || set == image.size()) continue;
    GPUEMU_TRY(loaded.device.forget(at.address + set, image.size() - set));
  }
  return ok_status();
}

void explain_unset(const ExecutionPlan& plan, DeviceFinding& finding) {
  if (finding.kind != DeviceFindingKind::Uninitialized) return;
  const auto found = std::ranges::find(plan.variables, finding.tensor, &PlanVariable::name);
  if (found == plan.variables.end()) return;
  finding.message +=
      found->value.text.empty()
          ? fmt::format(
                "; it is __constant__ and nothing sets it: write symbols = {{ {} = "
                "\"INPUT\" }} or {{ {} = \"f32:1.5\" }} into the kernel's table",
                found->source_name, found->source_name)
          : fmt::format("; symbols sets only its first bytes, by '{}'", found->value.text);
}

}  // namespace gpuemu
