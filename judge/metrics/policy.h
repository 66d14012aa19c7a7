// Checks the limits of gpuemu.toml against measured metrics. A kernel that exceeds a limit is a
// violation, which is data. A check that could not be made is always reported.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/artifacts.gen.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// What the checks use besides LintResult::metrics. Pointers must outlive the call.
struct Measured {
  /// Null if there is only machine code; then `entry` is null too.
  const ptx::Module* module = nullptr;
  const ptx::Function* entry = nullptr;
  std::vector<std::string> archs;                        ///< The requested architectures.
  std::map<std::string, std::vector<std::string>> sass;  ///< Opcodes by architecture.
  std::map<std::string, std::string> not_compiled;       ///< Why an architecture has no metrics.
  std::map<std::string, std::string> no_occupancy;       ///< Why it has no occupancy.
};

/// Fills in violations, not_checked and passed. `kernel` is null if gpuemu.toml does not list it.
void judge(const Config& config, const KernelConfig* kernel, const Measured& measured,
           LintResult& result);

/// Computes the verdict for existing clients, from their own numbers, regardless of ptxas.
void judge_plain(const ArtifactLimits& limits, LintResult& result);

}  // namespace gpuemu
