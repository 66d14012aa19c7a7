// Private to this folder: finds logs that RocksDB must not read, because it ends the process or
// never returns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/result.h"

namespace gpuemu::storage {

enum class LogContent : uint8_t {
  Readable,
  Foreign,  ///< Intact records that are no changes to a database, such as a copy of a manifest has,
            ///< which has the format of a log. RocksDB asserts.
  Endless,  ///< Damaged where RocksDB does not get past it: copy_readable() helps.
};
LogContent content_of_log(const std::filesystem::path& file);

/// Copies a log so that RocksDB takes an endless place for a damaged record, which it skips.
Status copy_readable(const std::filesystem::path& file, const std::filesystem::path& to);

/// Returns the name of the first log in the folder that is not readable; "" if all are.
std::string unreadable_log(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
