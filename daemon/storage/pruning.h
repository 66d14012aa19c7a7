// What pruning deletes: records beyond the limits of retention, or those that a user selects.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "common/base/retention.h"
#include "common/protocol/storage.gen.h"

namespace gpuemu {

/// Selects the records of one kind to delete.
struct PruneRule {
  bool all = false;                 ///< Regardless of the bounds.
  std::optional<uint64_t> older_s;  ///< Records stored longer ago than this many seconds.
  std::optional<uint64_t> keep;     ///< Records that are not among this many newest ones.
  bool beyond_either = false;  ///< One exceeded bound is enough; otherwise both must be exceeded.
  bool is_set() const { return all || older_s || keep; }
};

/// What to delete from a project.
struct Pruning {
  std::string project;  ///< Id of the project.
  PruneRule passing, failures, artifacts, runs;
  std::string op;                 ///< Only of this op, or of the kernel with this name; "": all.
  std::optional<uint64_t> bytes;  ///< Delete the oldest until at most this much is left.
  /// What `bytes` may delete.
  bool shrink_passing = false, shrink_failures = false;
  bool dry_run = false;    ///< Only count.
  bool automatic = false;  ///< If nothing was deleted, the run is not recorded in the history.
  /// Records stored at or after this time, in microseconds since 1970, belong to running jobs.
  uint64_t in_use_from = std::numeric_limits<uint64_t>::max();
  bool has_jobs = false;  ///< Jobs are running, one of which may be about to add to trends.
};

/// Returns the pruning for what exceeds these limits.
Pruning pruning_of(const Retention& retention);

struct PrunedTotals {
  PrunedRecords removed;
  uint64_t bytes = 0;  ///< Keys and values of deleted records.
};

}  // namespace gpuemu
