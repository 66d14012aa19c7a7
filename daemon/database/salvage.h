// Reads the readable records of a family whose tables are damaged in places.
#pragma once

#include <functional>
#include <string_view>

#include <rocksdb/db.h>

namespace gpuemu::storage {

/// The result of reading a family.
struct Salvaged {
  rocksdb::Status problem;  ///< The first problem found.
  bool to_the_end = true;   ///< False: nothing after some record can be read.
};

/// Calls `visit` with every readable record, in order of key. Skips damaged blocks.
Salvaged read_all(rocksdb::DB& db, const rocksdb::ReadOptions& options,
                  rocksdb::ColumnFamilyHandle* family,
                  const std::function<void(std::string_view key, std::string_view value)>& visit);

}  // namespace gpuemu::storage
