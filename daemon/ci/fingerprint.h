// What the verdict on an op or a kernel depends on, as one hash: when it has not changed, neither
// has the verdict.
#pragma once

#include <optional>
#include <string>

#include "common/config/config.h"
#include "daemon/engine/inspect.h"

namespace gpuemu {

/// What all hashes of a run have in common: version of the program, backend, device, base seed,
/// number of cases, part of the work.
struct RunIdentity {
  std::string text;
};

/// Nothing when it cannot be told (a kernel that does not compile, a reference that is gone, too
/// many Python files): then there is nothing to rely on. Covers the effective settings, the
/// compiled text of the op's kernels, and every Python file below its reference's folder. Installed
/// Python packages are not looked at.
std::optional<std::string> fingerprint_of(const Config& config, const OpConfig& op,
                                          const InspectOptions& options,
                                          const RunIdentity& identity);
/// The same for the measurement of a kernel.
std::optional<std::string> fingerprint_of(const Config& config, const KernelConfig& kernel,
                                          const InspectOptions& options,
                                          const RunIdentity& identity);

}  // namespace gpuemu
