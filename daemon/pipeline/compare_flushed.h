// A second comparison of a failing case, with what its reference says of other inputs: zero for
// subnormal numbers, which flushing explains, and numbers for NaN and infinity, which may be
// masked.
#pragma once

#include "daemon/pipeline/case_run.h"
#include "daemon/pipeline/compared_values.h"
#include "daemon/pipeline/reference_again.h"
#include "daemon/plans/execution_plan.h"

namespace gpuemu {

/// A case that was compared once.
struct ComparedCase {
  const CaseRequest& request;
  const BuiltPlan& built;
  Arena& arena;
  ReferenceAgain& reference;
  ComparedValues& values;
};

/// Compares a failing case again and replaces `values` where less is wrong then: with numbers for
/// NaN and infinity where those alone may be why, then with zero for subnormal numbers where
/// flushing is a note. An error is one of the arena or of `reference`.
Status compare_with_other_inputs(ComparedCase& compared);

}  // namespace gpuemu
