// The parts of an arena that a plan reads and writes.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/executor/plan.h"

namespace gpuemu {

struct ArenaRange {
  uint64_t offset = 0, bytes = 0;
};

struct PlanRanges {
  std::vector<ArenaRange> inputs, outputs;  ///< None is empty.
  uint64_t end = 0;                         ///< Required size of the arena.
};

/// Corruption for sizes that no plan has.
Result<PlanRanges> ranges_of(const ExecutionPlan& plan);

}  // namespace gpuemu
