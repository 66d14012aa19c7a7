// Private to this folder: moves records from one project to another.
#pragma once

#include "daemon/database/database.h"
#include "daemon/storage/project_stores.h"

namespace gpuemu::storage {

/// Implements ProjectStores::take().
Result<Taken> take_records(Database& database, const Taking& taking);

}  // namespace gpuemu::storage
