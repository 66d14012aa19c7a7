// The stage Execute: kernel and reference side by side.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

struct ReferenceReply;

/// Runs the plan on the slot's worker while the slot's Python computes what is expected. An error
/// where the machine failed, and not the kernel or its reference.
Result<Next> execute(CaseWork& work);

/// Calls the predicates that the reference returned in place of values on the kernel's outputs, and
/// adds their answers to the reply. REQUIRES: the reference has replied.
Status ask_predicates(CaseWork& work);

/// Asks the reference about the inputs that lie in the slot's memory now. The answer lies there
/// too; spans taken before are invalid.
Result<ReferenceReply> ask_reference(CaseWork& work);

}  // namespace gpuemu
