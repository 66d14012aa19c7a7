// Copies a database while it is written.
#pragma once

#include "daemon/database/database.h"

namespace gpuemu::storage {

/// Makes `place` a database with all that was acknowledged when it began. InvalidArgument for a
/// place that exists or is not absolute, Io when it cannot be written. For one thread at a time.
Status back_up(Database& database, const std::filesystem::path& place);

/// Removes what a killed backup of the database in `folder` left.
Status remove_unfinished_backup(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
