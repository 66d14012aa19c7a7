// Derives the layouts that a kernel supports: those whose strides it receives.
#include <algorithm>
#include <map>
#include <set>

#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

bool passes_pointer(const LaunchSpec& launch, const std::string& tensor) {
  return std::ranges::any_of(launch.args, [&](const LaunchSpec::Arg& arg) {
    return arg.kind == LaunchSpec::Arg::Kind::Tensor && arg.tensor == tensor;
  });
}

/// Returns the axes of the tensor whose strides are arguments of the launch.
std::set<int64_t> axes_passed(const std::vector<LaunchSpec::Arg>& args, const std::string& tensor,
                              int64_t rank) {
  std::set<int64_t> axes;
  for (const LaunchSpec::Arg& arg : args) {
    axes.merge(axes_passed(arg.members, tensor, rank));
    if (!arg.value) continue;
    for (const StrideUse& use : arg.value->stride_uses()) {
      if (use.tensor != tensor || !use.axis) continue;
      axes.insert(*use.axis < 0 ? *use.axis + rank : *use.axis);
    }
  }
  return axes;
}

/// Every launch of every variant that receives the tensor's address must also receive its strides.
void find_strides(const std::vector<const KernelConfig*>& kernels, TensorSpec& tensor) {
  const auto rank = static_cast<int64_t>(tensor.shape.size());
  bool used = false, last = true, outer = true;
  for (const KernelConfig* kernel : kernels) {
    for (const LaunchSpec& launch : kernel->launches) {
      if (!passes_pointer(launch, tensor.name)) continue;
      used = true;
      const std::set<int64_t> axes = axes_passed(launch.args, tensor.name, rank);
      last = last && axes.contains(rank - 1);
      for (int64_t axis = 0; axis + 1 < rank; ++axis) outer = outer && axes.contains(axis);
    }
  }
  tensor.outer_strides_passed = used && outer && rank >= 2;
  tensor.all_strides_passed = used && outer && last && rank >= 1;
}

bool any_tensor(const OpConfig& op, bool (*takes)(const TensorSpec&)) {
  return std::ranges::any_of(op.inputs, takes) || std::ranges::any_of(op.outputs, takes);
}

bool is_updated(const OpConfig& op, const std::string& name) {
  return std::ranges::find(op.outputs, name, &TensorSpec::name) != op.outputs.end();
}

bool takes_strided(const TensorSpec& tensor) {
  return tensor.outer_strides_passed || tensor.all_strides_passed;
}

bool takes_transposed(const TensorSpec& tensor) {
  return tensor.all_strides_passed && tensor.shape.size() >= 2;
}

bool takes_reversed(const TensorSpec& tensor) {
  return tensor.all_strides_passed && !tensor.shape.empty();
}

/// A written tensor must not have several elements at one place.
bool takes_broadcast(const OpConfig& op) {
  return std::ranges::any_of(op.inputs, [&](const TensorSpec& input) {
    return takes_reversed(input) && !is_updated(op, input.name);
  });
}

}  // namespace

void settle_layouts(ReadState& state, const Config& config, OpConfig& op, const OpDraft& draft) {
  std::vector<const KernelConfig*> kernels;
  for (const size_t at : state.kernels_called(op.kernels)) kernels.push_back(&config.kernels[at]);
  for (auto* tensors : {&op.inputs, &op.outputs}) {
    for (TensorSpec& tensor : *tensors) find_strides(kernels, tensor);
  }
  const std::map<MemoryLayout, bool> taken = {
      {MemoryLayout::Contiguous, true},
      {MemoryLayout::Strided, any_tensor(op, takes_strided)},
      {MemoryLayout::Transposed, any_tensor(op, takes_transposed)},
      {MemoryLayout::Broadcast, takes_broadcast(op)},
      {MemoryLayout::Reversed, any_tensor(op, takes_reversed)}};
  if (op.layouts.empty()) {
    // Not reversed: many kernels take strides as unsigned numbers without saying so.
    for (const auto& [layout, is_taken] : taken) {
      if (is_taken && layout != MemoryLayout::Reversed) op.layouts.push_back(layout);
    }
    return;
  }
  if (op.mode != ExecutionMode::Kernel) return;
  const std::string own = draft.path + ".layouts";
  const std::string path = state.places.contains(own) ? own : draft.data_path + ".layouts";
  for (size_t i = 0; i < op.layouts.size(); ++i) {
    const MemoryLayout layout = op.layouts[i];
    if (taken.at(layout)) continue;
    state.problem_at(
        fmt::format("{}[{}]", path, i),
        fmt::format("no {} of op '{}' can lie {} in memory: the kernel must be given "
                    "its strides{}, such as \"i64:stride(x, 0)\" among the args of "
                    "each launch that gets its address",
                    layout == MemoryLayout::Broadcast ? "input" : "tensor", op.name,
                    name_of(layout), layout == MemoryLayout::Strided ? "" : " on every axis"));
  }
}

}  // namespace gpuemu
