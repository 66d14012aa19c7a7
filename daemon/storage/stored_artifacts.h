// Private to this folder: the metrics of a project's kernels, current and earlier.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/artifacts.gen.h"
#include "daemon/records/keys.h"
#include "daemon/storage/project_keys.h"

namespace gpuemu::storage {

/// Thread-safe.
class StoredArtifacts {
 public:
  /// `keys` must outlive it.
  explicit StoredArtifacts(ProjectKeys& keys) : keys_(keys) {}

  /// Implements Store::put_artifact().
  Status put(const ArtifactMetrics& metrics);
  /// Implements Store::artifact().
  Result<ArtifactMetrics> at(const std::string& kernel, std::optional<uint64_t> time);
  /// Implements Store::list_artifacts().
  Result<std::vector<ArtifactMetrics>> newest();
  /// Implements Store::artifact_history().
  Result<std::vector<ArtifactMetrics>> all(const std::string& kernel);

 private:
  using Visit = std::function<void(const ArtifactKey& key, std::string_view value)>;
  Status each(const std::string& kernel, const Visit& visit);

  ProjectKeys& keys_;
  std::mutex mutex_;  // Held between reading the newest and replacing it.
};

/// Adds the key with the start of validity to metrics that were stored without history.
Status date_artifacts(Database& database);

}  // namespace gpuemu::storage
