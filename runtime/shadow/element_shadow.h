// What shadow execution of one case leaves for other processes: each element of an output in shared
// memory, and the history of one of them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/shadow/shadow.h"

namespace gpuemu {

struct ElementShadow {
  double high = 0, low = 0;  ///< Their sum is the value without rounding.
  double bound = 0;          ///< How far from it rounding may have taken the computed one.
  uint64_t block = 0;        ///< Linear index of the block that stored it last.
  uint64_t known = 0;        ///< 0: no float instruction made it.
};

/// ShadowReport without the elements, of the last launch unless said otherwise.
struct ExecutionShadow {
  std::vector<ShadowStep> divergence, origin, other_decision;  ///< One or none each.
  std::vector<ShadowStep> slice;
  uint64_t other_decisions = 0;                        ///< Over all launches.
  uint64_t close_roundings = 0, lost_comparisons = 0;  ///< Over all launches.
  bool complete = true;
};

}  // namespace gpuemu
