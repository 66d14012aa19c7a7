// What pruning deletes: what is beyond the limits of retention, or what a user asks for.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "common/base/retention.h"
#include "common/protocol/replies.h"

namespace gpuemu {

/// Selects the records of one kind to delete.
struct PruneRule {
  bool all = false;                 ///< Whatever the bounds.
  std::optional<uint64_t> older_s;  ///< Those stored before so many seconds.
  std::optional<uint64_t> keep;     ///< Those that are not among the newest so many.
  bool beyond_either = false;       ///< One bound will do; else both have to be exceeded.
  bool is_set() const { return all || older_s || keep; }
};

/// What to delete of a project.
struct Pruning {
  std::string project;  ///< Its id.
  PruneRule passing, failures, artifacts, runs;
  std::string op;                 ///< Only of this op, or of the kernel with this name; "": of all.
  std::optional<uint64_t> bytes;  ///< Delete the oldest until no more than this is left.
  /// What `bytes` may delete.
  bool shrink_passing = false, shrink_failures = false;
  bool dry_run = false;    ///< Count only.
  bool automatic = false;  ///< Leaves no trace in the history of pruning where nothing went.
  /// Records stored at or after this time, in microseconds since 1970, belong to running jobs.
  uint64_t in_use_from = std::numeric_limits<uint64_t>::max();
  bool has_jobs = false;  ///< Jobs run, one of which may be about to add to trends.
};

/// What is beyond these limits.
Pruning pruning_of(const Retention& retention);

struct PrunedTotals {
  PrunedRecords removed;
  uint64_t bytes = 0;  ///< Keys and values of what went.
};

}  // namespace gpuemu
