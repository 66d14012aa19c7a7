// Reads what can be read of a family whose tables are damaged in places.
#pragma once

#include <functional>
#include <string_view>

#include <rocksdb/db.h>

namespace gpuemu::storage {

/// What reading a family came to.
struct Salvaged {
  rocksdb::Status problem;  ///< The first that was met.
  bool to_the_end = true;   ///< False: nothing behind some record can be read.
};

/// Calls with every record that can be read, in order of key. Steps over damaged blocks.
Salvaged read_all(rocksdb::DB& db, const rocksdb::ReadOptions& options,
                  rocksdb::ColumnFamilyHandle* family,
                  const std::function<void(std::string_view key, std::string_view value)>& visit);

}  // namespace gpuemu::storage
