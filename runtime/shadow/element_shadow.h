// The results of shadow execution that one process leaves for another: each element of an output,
// in shared memory, and the history of one element.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/shadow/shadow.h"

namespace gpuemu {

struct ElementShadow {
  double high = 0, low = 0;  ///< Their sum is the value without rounding.
  double bound = 0;          ///< Largest distance from it that rounding can explain.
  uint64_t block = 0;        ///< Linear index of the block that stored it last.
  uint64_t known = 0;        ///< 0: not computed by a float instruction.
};

/// ShadowReport without the elements; of the last launch unless noted otherwise.
struct ExecutionShadow {
  std::vector<ShadowStep> divergence, origin, other_decision;  ///< At most one each.
  std::vector<ShadowStep> slice;
  uint64_t other_decisions = 0;                        ///< Over all launches.
  uint64_t close_roundings = 0, lost_comparisons = 0;  ///< Over all launches.
  bool complete = true;
};

}  // namespace gpuemu
