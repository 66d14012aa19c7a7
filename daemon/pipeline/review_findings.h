// What becomes of a case's findings once errors beyond the bound are understood.
#pragma once

#include <vector>

#include "daemon/pipeline/case_run.h"

namespace gpuemu {

/// The case passes. `warned` are the elements that only a customary test accepts: one warning for
/// each output among theirs.
void excuse(const std::vector<const ExceedingElement*>& warned, CaseOutcome& outcome);

/// Whether nothing beyond the bound passes.
bool is_strict(const CaseRequest& request);
/// Whether subnormal numbers that came out as zero are a note and no finding. The kernel must have
/// an instruction that flushes: one with .ftz, or a float atomic (".add.f32" behind "atom" or
/// "red").
bool may_note_flushing(const CaseRequest& request);
/// The findings stay, and say so.
void explain_strictness(CaseOutcome& outcome);

/// Whether the case ran without rounding.
enum class Looked : uint8_t { WithoutRounding, NotAtAll };
/// The findings stay, and say which settings would accept them.
void explain_inaccuracy(const CaseRequest& request, Looked looked, CaseOutcome& outcome);

}  // namespace gpuemu
