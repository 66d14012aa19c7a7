// Private to this folder: deletes records of a project.
#pragma once

#include "daemon/database/database.h"
#include "daemon/storage/pruning.h"

namespace gpuemu::storage {

/// Implements ProjectStores::prune().
Result<PrunedTotals> prune_records(Database& database, const Pruning& pruning);

/// How many records prune_records() has deleted from a project in all, and when it last ran.
struct PruneHistory {
  PrunedRecords removed;
  int64_t last = 0;  ///< Seconds since 1970; 0: never.
};
Result<PruneHistory> read_prune_history(Database& database, const std::string& project);

/// Returns the number of distinct times among the points of stored trends; 0 for other text.
uint64_t count_runs(const std::string& trends);

}  // namespace gpuemu::storage
