// What the verdict on an op or a kernel depends on, as one hash: when it has not changed, neither
// has the verdict.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "daemon/measure/measure_kernels.h"
#include "daemon/reference/reference_files.h"

namespace gpuemu {

/// What all hashes of a run have in common: version of the program, backend, device, base seed,
/// number of cases, part of the work.
struct RunIdentity {
  std::string text;
};

/// Nothing when it cannot be told (a kernel that does not compile, a reference that is gone, too
/// many Python files): then there is nothing to rely on. Covers the effective settings, the
/// compiled text of the op's kernels, and every Python file below its reference's folder. What else
/// the reference reads is known once it has run: contents_of. Installed Python packages are not
/// looked at.
std::optional<std::string> fingerprint_of(const Config& config, const OpConfig& op,
                                          const InspectOptions& options,
                                          const RunIdentity& identity);
/// A file that a reference read, and what was in it; "" where there was none.
struct FileContent {
  std::string path;
  std::string hash;
};

std::string hash_of_file(const std::string& path);
/// What a verdict depends on besides its fingerprint. Nothing when it cannot be told: the script
/// may have read more, a file has changed since `start`, or is too large to be read each time.
std::optional<std::vector<FileContent>> contents_of(const ReferenceReads& reads,
                                                    std::filesystem::file_time_type start);

/// The fingerprint of what a measurement of a kernel depends on.
std::optional<std::string> fingerprint_of(const Config& config, const KernelConfig& kernel,
                                          const InspectOptions& options,
                                          const RunIdentity& identity);

}  // namespace gpuemu
