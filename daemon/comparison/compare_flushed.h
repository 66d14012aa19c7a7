// Compares a failing case again with the reference of changed inputs: zero in place of subnormal
// numbers, in case the kernel flushes them, and finite numbers in place of NaN and infinity, in
// case the op masks them.
#pragma once

#include "common/base/result.h"

namespace gpuemu {

class Arena;
class ReferenceAgain;
struct BuiltPlan;
struct CaseRequest;
struct ComparedValues;

/// A case after its first comparison.
struct ComparedCase {
  const CaseRequest& request;
  const BuiltPlan& built;
  Arena& arena;
  ReferenceAgain& reference;
  ComparedValues& values;
};

/// Compares a failing case again and replaces `values` if the result is better: first with
/// finite numbers for NaN and infinity, if those may explain the failures, then with zero for
/// subnormal numbers, if flushing is only a note. Returns errors of the arena and of `reference`.
Status compare_with_other_inputs(ComparedCase& compared);

}  // namespace gpuemu
