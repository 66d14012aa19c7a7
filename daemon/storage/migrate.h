// Private to this folder: makes of a database without projects one that has them. The new one is
// built beside the old, and both change places in one step.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "daemon/storage/database.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu::storage {

/// What a migration that was killed has left is removed or finished.
Status finish_migration(const std::filesystem::path& folder);

/// Says where the database of before is kept. The folder is as it was when this fails.
Result<std::string> migrate(std::unique_ptr<Database> old, const std::filesystem::path& folder,
                            const ProjectNames& first);

/// That of this program.
Status set_schema_version(Database& database);

}  // namespace gpuemu::storage
