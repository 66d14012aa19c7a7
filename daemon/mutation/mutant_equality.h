// Whether a mutant differs from its kernel in nothing but rounding.
#pragma once

namespace gpuemu {

struct CaseReport;
struct CaseRequest;

/// Compares two runs of one case with CaseSettings::shadow: each element of their exact outputs is
/// the same up to a unit in the last place, which rounding it to its type costs, or up to a
/// sixteenth of the op's tolerance, which is half a rounding at its error scale. False where either
/// has no exact outputs.
bool same_without_rounding(const CaseRequest& request, const CaseReport& own,
                           const CaseReport& mutant);

}  // namespace gpuemu
