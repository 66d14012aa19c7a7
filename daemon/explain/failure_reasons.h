// Explanations in reports: for the first failing case of each op, dtype and kind of finding,
// whether its formula or its arithmetic is wrong, and which side disagrees with the others.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "daemon/explain/case_explanation.h"

namespace gpuemu {

struct Config;
struct ExplainResultReply;

struct DiagnoseOptions {
  LaneClaim claim;
  const std::atomic<bool>* cancel = nullptr;  ///< Ends the work between cases.
};

/// Sets ValidationFailure::diagnosis of at most kDiagnosesMax findings about values. Findings of
/// large cases, and those for which no time is left, get a note that they were skipped. Of those
/// beyond kDiagnosesMax the first gets a note with their number, and the rest get none. Findings
/// that cannot be explained (integer outputs, cases of clients) stay without a diagnosis.
void diagnose(const Config& config, const ExplainMachines& machines,
              const std::vector<ValidationResult*>& results, const DiagnoseOptions& options);

/// Returns one line for a finding of that kind: what happened, at which instruction, and the vote.
/// `element` follows the verdict.
std::string note_of(const ExplainResultReply& explained, FindingKind kind,
                    const std::string& element = "");

}  // namespace gpuemu
