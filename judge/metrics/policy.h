// The checks of gpuemu.toml against what was measured. A kernel that is too large is a violation,
// which is data; a check that could not be made is said, never passed over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/artifacts.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// What the checks look at beside LintResult::metrics. Pointers outlive the call.
struct Measured {
  const ptx::Module* module = nullptr;  ///< Null for machine code alone; then `entry` is too.
  const ptx::Function* entry = nullptr;
  std::vector<std::string> archs;                        ///< The ones that were asked for.
  std::map<std::string, std::vector<std::string>> sass;  ///< Opcodes by architecture.
  std::map<std::string, std::string> not_compiled;       ///< Why an architecture has no numbers.
  std::map<std::string, std::string> no_occupancy;       ///< Why it has no occupancy.
};

/// Fills violations, not_checked and passed. `kernel` null: one that gpuemu.toml does not list.
void judge(const Config& config, const KernelConfig* kernel, const Measured& measured,
           LintResult& result);

/// The verdict that existing clients know: their own numbers, whatever ptxas would say.
void judge_plain(const ArtifactLimits& limits, LintResult& result);

}  // namespace gpuemu
