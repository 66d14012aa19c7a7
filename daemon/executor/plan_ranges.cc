#include "daemon/executor/plan_ranges.h"

#include <algorithm>

#include "common/numeric/dtype.h"
#include "daemon/executor/execute_sparse.h"

namespace gpuemu {
namespace {

/// More memory than any machine has, and far from overflowing.
constexpr uint64_t kArenaBytesMax = uint64_t{1} << 46;

struct Collector {
  PlanRanges ranges;

  Status add(std::vector<ArenaRange>& to, uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return ok_status();
    if (offset > kArenaBytesMax || bytes > kArenaBytesMax) {
      return error(ErrorCode::Corruption, "a plan of {} bytes at {}", bytes, offset);
    }
    to.push_back({offset, bytes});
    ranges.end = std::max(ranges.end, offset + bytes);
    return ok_status();
  }
  Status add(const ExecutionPlan& plan, size_t number);
};

Status Collector::add(const ExecutionPlan& plan, size_t number) {
  const PlanTensor& tensor = plan.tensors[number];
  const auto count = static_cast<uint64_t>(GPUEMU_TRY(checked_element_count(tensor.shape)));
  // Copies of a repeated tensor are made on the device.
  const uint64_t bytes = count * byte_size(tensor.dtype) / std::max<uint64_t>(tensor.repeats, 1);
  if (is_read(tensor)) {
    GPUEMU_TRY(add(ranges.inputs, tensor.arena_offset, bytes));
    if (plan.warmup) GPUEMU_TRY(add(ranges.inputs, tensor.warmup_offset, bytes));
  }
  if (!is_written(tensor)) return ok_status();
  const uint64_t windows = plan.sparse_launch_ms != 0 ? kSparseWindows : 1;
  GPUEMU_TRY(add(ranges.outputs, tensor.output_offset, bytes * windows));
  if (!plan.shadow.wanted || number >= plan.shadow.offsets.size()) return ok_status();
  return add(ranges.outputs, plan.shadow.offsets[number], count * sizeof(ElementShadow));
}

}  // namespace

Result<PlanRanges> ranges_of(const ExecutionPlan& plan) {
  Collector collector;
  for (size_t i = 0; i < plan.tensors.size(); ++i) GPUEMU_TRY(collector.add(plan, i));
  return std::move(collector.ranges);
}

}  // namespace gpuemu
