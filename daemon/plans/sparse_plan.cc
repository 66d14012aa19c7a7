#include "daemon/plans/sparse_plan.h"

#include <algorithm>

#include "daemon/executor/execute_buffer.h"
#include "daemon/executor/execute_sparse.h"

namespace gpuemu {
namespace {

constexpr uint64_t kAlignment = 64;
/// The most blocks that may have begun without having executed anything.
constexpr uint64_t kBegun = 16'384;

/// Returns the shape of one copy along axis 0.
Shape small_shape(const PlanTensor& tensor) {
  Shape shape = tensor.shape;
  if (tensor.repeats > 1) shape[0] /= static_cast<int64_t>(tensor.repeats);
  return shape;
}

WideIndexWindow window_of(const PlanTensor& tensor, std::span<const std::byte> bytes) {
  WideIndexWindow window{make_tensor(tensor.dtype, small_shape(tensor)), {}};
  std::ranges::copy(bytes, window.values.data.begin());
  const size_t size = byte_size(tensor.dtype);
  for (size_t at = 0; at < bytes.size(); at += size) {
    bool poison = true;
    for (size_t i = at; i < at + size; ++i) {
      poison = poison && bytes[i] == poison_byte(kSparsePoison, i);
    }
    window.written.push_back(!poison);
  }
  return window;
}

uint64_t blocks_of(const PlanLaunch& launch) {
  return uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
}
uint64_t threads_of(const PlanLaunch& launch) {
  return uint64_t{launch.block.x} * launch.block.y * launch.block.z;
}

}  // namespace

void repeat_tensors(const DerivedCase& derived, BuiltPlan& built) {
  ExecutionPlan& plan = built.plan;
  uint64_t next = 0;
  for (PlanTensor& tensor : plan.tensors) {
    const auto input = derived.inputs.find(tensor.name);
    const bool output = tensor.role == PlanTensor::Role::Output;
    // An output repeats; an input does if the tensor is larger than the data there is for it.
    if (output || (input != derived.inputs.end() && input->second.shape != tensor.shape)) {
      tensor.repeats = derived.wide_index->repeats;
    }
    if (tensor.role == PlanTensor::Role::Scratch) continue;
    const uint64_t bytes =
        static_cast<uint64_t>(element_count(small_shape(tensor))) * byte_size(tensor.dtype);
    (output ? tensor.output_offset : tensor.arena_offset) = next;
    next += (output ? kSparseWindows * bytes : bytes) + kAlignment;
    next -= next % kAlignment;
  }
  built.result_offset = next;
  plan.sparse_launch_ms = derived.wide_index->launch_ms;
  plan.runs = 1;
  plan.warmup = false;
  plan.sanitize = {DeviceCheck::Memory};
}

Status read_windows(const BuiltPlan& built, Arena& arena, WideIndexRun& run) {
  for (const PlanTensor& tensor : built.plan.tensors) {
    if (tensor.role != PlanTensor::Role::Output) continue;
    const uint64_t part =
        static_cast<uint64_t>(element_count(small_shape(tensor))) * byte_size(tensor.dtype);
    uint64_t from = tensor.output_offset;
    for (WideIndexRun::Windows* windows : {&run.in_order, &run.reverse}) {
      for (auto* place : {&windows->first, &windows->last}) {
        const auto bytes = GPUEMU_TRY(arena.range(from, part));
        place->insert_or_assign(tensor.name, window_of(tensor, bytes));
        from += part;
      }
    }
  }
  return ok_status();
}

bool ran_apart(const BuiltPlan& built, uint64_t instructions, const std::string& ptx) {
  // If a counter distributes tiles, the last blocks may process the first tiles.
  if (ptx.find("atom.") != std::string::npos) return false;
  return std::ranges::all_of(built.plan.launches, [&](const PlanLaunch& launch) {
    // A finished block has executed at least one instruction per thread.
    return blocks_of(launch) > instructions / threads_of(launch) + 2 * kBegun;
  });
}

}  // namespace gpuemu
