// What `gpuemu storage` asks for, answered from the stores of all projects: by a daemon, or without
// one by a program that holds the lock of the database folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "daemon/server/retention_keeper.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu {

/// Whom a request is about, and what must stay.
struct StorageScope {
  std::vector<StoredProject> projects;
  /// See Pruning.
  uint64_t in_use_from = std::numeric_limits<uint64_t>::max();
  /// The limits of a project, for pruning that is told none.
  std::function<Result<Retention>(const StoredProject&)> retention;
};

Reply answer_storage(const StorageStatusRequest& request, const StorageScope& scope,
                     ProjectStores& stores);
Reply answer_storage(const StoragePruneRequest& request, const StorageScope& scope,
                     ProjectStores& stores);
Reply answer_storage(const StorageBackupRequest& request, ProjectStores& stores);
Reply answer_storage(const StorageCompactRequest& request, ProjectStores& stores);

/// Answers one message without a daemon, for the project of `config`. Only requests of
/// `gpuemu storage` are answered; anything wrong is an Error reply. `names`: as for open_stores().
/// `environment`: as for retention_of().
std::string answer_without_daemon(std::string_view message, const Config& config,
                                  const ProjectNames& names, const Environment& environment);
/// As repair_store(); the reply as text.
std::string repair_without_daemon(const Config& config, bool dry_run);
/// As restore_store(); the reply as text.
std::string restore_without_daemon(const Config& config, const std::string& backup, bool force);

}  // namespace gpuemu
