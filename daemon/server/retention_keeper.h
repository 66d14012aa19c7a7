// Applies the limits of [storage] while the daemon runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "common/base/result.h"
#include "common/base/retention.h"
#include "daemon/server/job_table.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu {

using Environment = std::map<std::string, std::string>;

/// What [storage] says for the project: in its gpuemu.toml, in the user's file and in the
/// machine's, or in the last two where it has no gpuemu.toml. InvalidArgument, with all problems,
/// for a file with errors.
Result<Retention> retention_of(const StoredProject& project, const Environment& environment);

/// A thread that prunes each project when the daemon starts and again after its prune_minutes.
/// What waits to be claimed is never pruned, nor is a project whose gpuemu.toml has errors.
class RetentionKeeper {
 public:
  using Clock = std::chrono::steady_clock;

  /// Gets a line for the log: what went, or why nothing did.
  using Tell = std::function<void(const std::string& line)>;

  /// `stores` and `jobs` outlive it.
  RetentionKeeper(ProjectStores& stores, JobTable& jobs, Environment environment, Tell tell);
  /// Waits for a pruning that is under way.
  ~RetentionKeeper();
  RetentionKeeper(const RetentionKeeper&) = delete;
  RetentionKeeper& operator=(const RetentionKeeper&) = delete;

  /// Starts the thread. ResourceExhausted when the system has none.
  Status start();
  /// Prunes the projects whose time has come. Not while the thread runs.
  void prune_due(Clock::time_point now);

 private:
  void run();
  void prune(const StoredProject& project, const Retention& retention);
  bool is_ending();

  ProjectStores& stores_;
  JobTable& jobs_;
  const Environment environment_;
  const Tell tell_;
  std::map<std::string, Clock::time_point> due_;  ///< By id; none: now.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace gpuemu
