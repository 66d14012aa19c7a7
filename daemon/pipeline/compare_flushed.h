// A second comparison of a case with subnormal inputs: what flushing them to zero explains.
#pragma once

#include "daemon/pipeline/case_run.h"
#include "daemon/pipeline/stages.h"

namespace gpuemu {

/// Whether the case may have subnormal inputs, and flushing them is a note.
bool may_have_flushed(const CaseRequest& request);

/// Compares a failing case again, with the reference for inputs whose subnormal numbers are zero
/// beside the one for the inputs themselves. Replaces `work.values` where less is wrong then.
Status compare_with_flushed(CaseWork& work);

}  // namespace gpuemu
