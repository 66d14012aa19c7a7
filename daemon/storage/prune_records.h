// Private to this folder: deletes records of a project.
#pragma once

#include "daemon/database/database.h"
#include "daemon/storage/pruning.h"

namespace gpuemu::storage {

/// Implements ProjectStores::prune().
Result<PrunedTotals> prune_records(Database& database, const Pruning& pruning);

/// What prune_records() has deleted of a project since it exists, and when it last did.
struct PruneHistory {
  PrunedRecords removed;
  int64_t last = 0;  ///< Seconds since 1970; 0: never.
};
Result<PruneHistory> read_prune_history(Database& database, const std::string& project);

/// The number of different times among the points of stored trends; 0 for other text.
uint64_t count_runs(const std::string& trends);

}  // namespace gpuemu::storage
