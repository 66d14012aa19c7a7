// The stage Execute: runs kernel and reference in parallel.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

struct ReferenceReply;

/// Sends the request for the expected values; nothing without a reference or for the second time.
/// Does not wait. execute() reports why it failed.
void ask_for_expected(CaseWork& work);

/// Sends the plan to the slot's worker; nothing for the second time. Waits for the turn of the
/// slot.
void launch(CaseWork& work);

/// Waits for the answers to ask_for_expected() and launch() of a case that does not go on.
void abandon(CaseWork& work);

/// Runs the plan on the slot's worker while the slot's Python computes the expected values, unless
/// ask_for_expected() and launch() have begun that; waits for both. An error if the host failed,
/// rather than the kernel or its reference.
Result<Next> execute(CaseWork& work);

/// Calls the predicates that the reference returned in place of values on the kernel's outputs, and
/// adds their answers to the reply. REQUIRES: the reference has replied.
Status ask_predicates(CaseWork& work);

/// Runs the reference on the inputs that are in the slot's memory now. The answer is stored there
/// too; spans taken before become invalid.
Result<ReferenceReply> ask_reference(CaseWork& work);

}  // namespace gpuemu
