// Private to this folder: counts the stored records of projects.
#pragma once

#include "daemon/database/database.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu::storage {

/// Implements ProjectStores::bytes(), and what retention and pruning compare with their limit.
Result<uint64_t> bytes_of_records(Database& database, const std::string& project);

/// Implements ProjectStores::status().
Result<StorageStatusReply> stored_counts(Database& database,
                                         const std::vector<StoredProject>& listed);

/// Returns the size of all files in the folder.
uint64_t bytes_of_files(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
