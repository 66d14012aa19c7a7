// Decides whether a mutant differs from its kernel only in rounding.
#pragma once

namespace gpuemu {

struct CaseReport;
struct CaseRequest;

/// Compares two runs of one case with CaseSettings::shadow. Returns true if each element of their
/// exact outputs is equal within a unit in the last place, the cost of rounding it to its type, or
/// within a sixteenth of the op's tolerance, which is half a rounding at its error scale. Returns
/// false if either run has no exact outputs.
bool same_without_rounding(const CaseRequest& request, const CaseReport& own,
                           const CaseReport& mutant);

}  // namespace gpuemu
