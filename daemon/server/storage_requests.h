// Answers requests of `gpuemu storage` from the stores of all projects: in a daemon, or without one
// in a program that holds the lock of the database folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/replies.h"
#include "common/protocol/storage.gen.h"
#include "daemon/server/retention_keeper.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu {

/// The projects that a request concerns, and what must be kept.
struct StorageScope {
  std::vector<StoredProject> projects;
  /// See Pruning.
  uint64_t in_use_from = std::numeric_limits<uint64_t>::max();
  /// Returns the limits of a project, for pruning without explicit limits.
  std::function<Result<Retention>(const StoredProject&)> retention;
};

Reply answer_storage(const StorageStatusRequest& request, const StorageScope& scope,
                     ProjectStores& stores);
Reply answer_storage(const StoragePruneRequest& request, const StorageScope& scope,
                     ProjectStores& stores);
Reply answer_storage(const StorageBackupRequest& request, ProjectStores& stores);
Reply answer_storage(const StorageCompactRequest& request, ProjectStores& stores);

/// Answers one message without a daemon, for the project of `config`. Only requests of `gpuemu
/// storage` are answered; errors are returned as an Error reply. `names`: as for open_stores().
/// `environment`: as for retention_of().
std::string answer_without_daemon(std::string_view message, const Config& config,
                                  const ProjectNames& names, const Environment& environment);
/// Like repair_store(); returns the reply as text.
std::string repair_without_daemon(const Config& config, bool dry_run);
/// Like restore_store(); returns the reply as text.
std::string restore_without_daemon(const Config& config, const std::string& backup, bool force);

}  // namespace gpuemu
