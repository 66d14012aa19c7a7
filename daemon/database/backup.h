// Copies a database while it is being written.
#pragma once

#include "daemon/database/database.h"

namespace gpuemu::storage {

/// Makes `place` a database with everything that had been acknowledged when the call began.
/// InvalidArgument if the place exists or is not absolute, Io if it cannot be written. For one
/// thread at a time.
Status back_up(Database& database, const std::filesystem::path& place);

/// Removes the remains of a killed backup of the database in `folder`.
Status remove_unfinished_backup(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
