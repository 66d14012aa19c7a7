// Runs one case end to end: the stages of daemon/pipeline/stages.h, in their order.
#pragma once

#include "common/base/result.h"

namespace gpuemu {

struct CaseReport;
struct CaseRequest;
struct Slot;

/// Runs the case. Faults of the kernel or the reference are in the result's failures; an error
/// means that the case could not be made (its schema does not evaluate, no shared memory, no
/// Python).
Result<CaseReport> run_case(const CaseRequest& request, Slot& slot);

}  // namespace gpuemu
