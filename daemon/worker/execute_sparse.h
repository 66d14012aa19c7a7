// Runs a plan whose tensors exceed every memory: sparse ones, of which the kernel touches a little
// before its time is over. It runs twice, from the first block on and from the last one back, each
// time on fresh memory. Of every output its first and last copy (PlanTensor::repeats) count: they
// are poisoned before, and told afterwards as
//
//   output_offset := first(1) last(1) first(2) last(2)    each the size of the packed elements
//
// where 1 is the run in order and 2 the reverse. Poison alone where a launch before the last one
// did not end: what follows has read what is unfinished.
#pragma once

#include "common/base/arena.h"
#include "daemon/worker/plan.h"
#include "runtime/device/device.h"

namespace gpuemu {

inline constexpr uint64_t kSparseWindows = 4;

/// Poison of every window, so that it tells what was not written.
inline constexpr uint32_t kSparsePoison = 0;

/// Unsupported on a device without sparse memory, for tensors that it cannot repeat, and for a
/// launch that the device refuses: no device has such grids. The report has no finding that the
/// time was over.
Result<ExecutionReport> execute_sparse(Device& device, ModuleId module, Arena& arena,
                                       const ExecutionPlan& plan);

}  // namespace gpuemu
