// Private to this folder: migrates a database without projects to the schema with projects. Builds
// the copy beside the old database, then exchanges the two folders in one step.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "daemon/database/database.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu::storage {

/// Completes or removes what a killed migration left beside `folder`, if anything. Io if a folder
/// cannot be moved or removed.
Status finish_migration(const std::filesystem::path& folder);

/// Migrates `old`, the open database in `folder`, and closes it. Records of the ops and kernels of
/// `first` go to that project, the rest to kLegacyProject. Returns a sentence that says where the
/// old database is kept. If building the copy fails, the old database stays unchanged.
/// ResourceExhausted if there is no room for the copy.
Result<std::string> migrate(std::unique_ptr<Database> old, const std::filesystem::path& folder,
                            const ProjectNames& first);

/// Writes kSchemaVersion into the database.
Status set_schema_version(Database& database);

}  // namespace gpuemu::storage
