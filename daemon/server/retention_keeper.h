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

/// Returns the [storage] settings of the project, from its gpuemu.toml, the user's file and the
/// machine's; from the last two if it has no gpuemu.toml. InvalidArgument lists all problems of a
/// file with errors.
Result<Retention> retention_of(const StoredProject& project, const Environment& environment);

/// A thread that prunes each project when the daemon starts, and again after its prune_minutes.
/// Never prunes unclaimed records, or a project whose gpuemu.toml has errors.
class RetentionKeeper {
 public:
  using Clock = std::chrono::steady_clock;

  /// Receives a line for the log: what was deleted, or why nothing was.
  using Tell = std::function<void(const std::string& line)>;

  /// `stores` and `jobs` must outlive it.
  RetentionKeeper(ProjectStores& stores, JobTable& jobs, Environment environment, Tell tell);
  /// Waits for a pruning in progress.
  ~RetentionKeeper();
  RetentionKeeper(const RetentionKeeper&) = delete;
  RetentionKeeper& operator=(const RetentionKeeper&) = delete;

  /// Starts the thread. ResourceExhausted if the system has none.
  Status start();
  /// Prunes the projects that are due. Must not be called while the thread runs.
  void prune_due(Clock::time_point now);

 private:
  void run();
  void prune(const StoredProject& project, const Retention& retention);
  bool is_ending();

  ProjectStores& stores_;
  JobTable& jobs_;
  const Environment environment_;
  const Tell tell_;
  std::map<std::string, Clock::time_point> due_;  ///< By id; none: due now.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace gpuemu
