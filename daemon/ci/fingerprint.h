// Hashes everything that the verdict on an op or a kernel depends on: if the hash has not changed,
// neither has the verdict.
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

/// The values that all hashes of a run have in common: program version, backend, device, base seed,
/// number of cases, shard.
struct RunIdentity {
  std::string text;
};

/// Hashes the effective settings, the compiled text of the op's kernels, and every Python file
/// below its reference's folder. Returns nothing if no reliable hash exists (a kernel that does not
/// compile, a reference that is gone, too many Python files). Other files that the reference reads
/// are known only once it has run: see contents_of. Installed Python packages are not covered.
std::optional<std::string> fingerprint_of(const Config& config, const OpConfig& op,
                                          const InspectOptions& options,
                                          const RunIdentity& identity);
/// A file that a reference read, and its content; "" if the file did not exist.
struct FileContent {
  std::string path;
  std::string hash;
};

std::string hash_of_file(const std::string& path);
/// Returns what a verdict depends on besides its fingerprint. Nothing if that is unknown: the
/// script may have read more, or a file has changed since `start` or is too large to hash each
/// time.
std::optional<std::vector<FileContent>> contents_of(const ReferenceReads& reads,
                                                    std::filesystem::file_time_type start);

/// Hashes everything that the measurement of a kernel depends on.
std::optional<std::string> fingerprint_of(const Config& config, const KernelConfig& kernel,
                                          const InspectOptions& options,
                                          const RunIdentity& identity);

}  // namespace gpuemu
