// What becomes of a case's findings once errors beyond the bound are understood.
#pragma once

#include <vector>

#include "daemon/pipeline/case_run.h"
#include "daemon/pipeline/compared_values.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {

/// Whether the error is small enough to come from underflow in the type.
bool may_be_underflow(const ExceedingElement& at, const FloatFormat& format);

/// Lets the case pass. `warned` are the elements that only a customary test accepts: one warning
/// for each output among theirs.
void excuse(const std::vector<const ExceedingElement*>& warned, CaseReport& report);

/// Whether gpuemu.toml sets no nan_policy for the output. A policy that it sets always holds, even
/// where there is an explanation for NaN and infinity.
bool has_policy_by_default(const CaseRequest& request, const std::string& output);
/// Whether nothing beyond the bound passes.
bool is_strict(const CaseRequest& request);
/// Whether subnormal numbers that came out as zero are a note and no finding. The kernel must have
/// an instruction that flushes: one with .ftz, or a float atomic (".add.f32" behind "atom" or
/// "red").
bool may_note_flushing(const CaseRequest& request);
/// Says in the findings that `strict` keeps them.
void explain_strictness(const Exceeding& exceeding, CaseReport& report);

/// Whether the case ran without rounding.
enum class Looked : uint8_t { WithoutRounding, NotAtAll };
/// Says in the findings which settings would accept them.
void explain_inaccuracy(const CaseRequest& request, Looked looked, const Exceeding& exceeding,
                        CaseReport& report);

}  // namespace gpuemu
