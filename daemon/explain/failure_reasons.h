// Explanations in reports: the first failing case of each op, dtype and kind of finding says
// whether its formula or its arithmetic is wrong, and who stands alone.
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
  const std::atomic<bool>* cancel = nullptr;  ///< Ends it between cases.
};

/// Sets ValidationFailure::diagnosis of findings about values, at most kDiagnosesMax of them; those
/// of large cases and those for which no time is left say that they were skipped. Of those beyond
/// kDiagnosesMax the first says how many there are, the rest have none. What cannot be
/// explained (outputs of integers, cases of clients) stays without one.
void diagnose(const Config& config, const ExplainMachines& machines,
              const std::vector<ValidationResult*>& results, const DiagnoseOptions& options);

/// In one line, for a finding of that kind: what happened, at which instruction, and the vote.
/// `element` follows the verdict.
std::string note_of(const ExplainResultReply& explained, FindingKind kind,
                    const std::string& element = "");

}  // namespace gpuemu
