// Runs a plan with tensors larger than any memory: sparse ones, of which the kernel accesses a
// small part before its time is over. Runs twice, from the first block on and from the last one
// back, each time in fresh memory. The first and last copy of every output (PlanTensor::repeats)
// are poisoned before and returned as
//
//   output_offset := first(1) last(1) first(2) last(2)    each the size of the packed elements
//
// where 1 is the run in order and 2 the reverse. Returns only poison if a launch before the last
// one did not end, because later launches then read unfinished data.
#pragma once

#include "common/base/arena.h"
#include "daemon/executor/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {

inline constexpr uint64_t kSparseWindows = 4;

/// Poison of every window, which identifies unwritten elements.
inline constexpr uint32_t kSparsePoison = 0;

/// Unsupported on a device without sparse memory, for tensors that it cannot repeat, and for a
/// launch that the device refuses, because no device has such grids. The report contains no timeout
/// finding.
Result<ExecutionReport> execute_sparse(Device& device, ModuleId module, Arena& arena,
                                       const ExecutionPlan& plan);

}  // namespace gpuemu
