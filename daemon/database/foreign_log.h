// Private to this folder: recognizes files that are named as logs of RocksDB and hold something
// else.
#pragma once

#include <filesystem>
#include <string>

namespace gpuemu::storage {

/// Returns the name of the first log in the folder whose records are no changes to a database, such
/// as a copy of a manifest, which has the format of a log; "" if there is none. RocksDB asserts
/// when it reads one.
std::string foreign_log(const std::filesystem::path& folder);

/// Returns whether the file is such a log. Damaged records are left to RocksDB, which skips them.
bool is_foreign_log(const std::filesystem::path& file);

}  // namespace gpuemu::storage
