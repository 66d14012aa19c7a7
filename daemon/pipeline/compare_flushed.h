// A second comparison of a case, with what the reference says of other inputs: zero for subnormal
// numbers, which flushing explains, and numbers for NaN and infinity, which may be masked.
#pragma once

#include "daemon/pipeline/case_run.h"
#include "daemon/pipeline/stages.h"

namespace gpuemu {

/// Whether the case may have subnormal inputs, and flushing them is a note.
bool may_have_flushed(const CaseRequest& request);

/// Whether the case may have failed by a NaN or an infinity of the reference alone: something of
/// its inputs that the op masks, and that the reference multiplies by zero.
bool may_have_masked(const CaseRequest& request, const std::vector<ValidationFailure>& failures);

/// Compares a failing case again, with the reference for inputs with numbers for NaN and infinity
/// beside the one for the inputs themselves. Replaces `work.values` where less is wrong then.
Status compare_with_masked(CaseWork& work);

/// Compares a failing case again, with the reference for inputs whose subnormal numbers are zero
/// beside the one for the inputs themselves. Replaces `work.values` where less is wrong then.
Status compare_with_flushed(CaseWork& work);

}  // namespace gpuemu
