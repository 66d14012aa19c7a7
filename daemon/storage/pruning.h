// What pruning deletes: limits of retention, or what a user asks for.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "common/protocol/replies.h"

namespace gpuemu {

/// How much of a project is kept; 0 means no limit.
struct Retention {
  uint64_t passing_days = 30, passing_count = 200'000;
  uint64_t failure_days = 0, failure_count = 20'000;
  uint64_t run_count = 200;
  uint64_t bytes = uint64_t{8} << 30;
};

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
  bool dry_run = false;  ///< Count only.
  /// Records stored at or after this time, in microseconds since 1970, belong to running jobs.
  uint64_t in_use_from = std::numeric_limits<uint64_t>::max();
};

/// What is beyond these limits.
Pruning pruning_of(const Retention& retention);

struct PrunedTotals {
  PrunedRecords removed;
  uint64_t bytes = 0;  ///< Keys and values of what went.
};

}  // namespace gpuemu
