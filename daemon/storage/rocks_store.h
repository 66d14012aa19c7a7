// Private to this folder: the records of one project on disk.
#pragma once

#include <memory>
#include <string>

#include "daemon/database/database.h"
#include "daemon/storage/stamps.h"
#include "daemon/storage/store.h"

namespace gpuemu::storage {

/// Opens the store of `project`, raises `stamps` above the stamps of its records, and shares
/// ownership of both.
Result<std::shared_ptr<Store>> make_rocks_store(std::shared_ptr<Database> database,
                                                std::shared_ptr<Stamps> stamps,
                                                const std::string& project);

}  // namespace gpuemu::storage
