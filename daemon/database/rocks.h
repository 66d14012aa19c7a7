// Opens RocksDB, and turns its statuses into errors.
#pragma once

#include <array>
#include <filesystem>
#include <memory>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "common/base/result.h"
#include "daemon/database/ledger.h"

namespace gpuemu::storage {

/// RocksDB's statuses become errors here and nowhere else.
Error error_of(const rocksdb::Status& status, const std::filesystem::path& folder);

/// An open database with the handles of its families.
struct OpenedRocks {
  std::unique_ptr<rocksdb::DB> db;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> handles{};  ///< Null: it has none.

  OpenedRocks() = default;
  OpenedRocks(OpenedRocks&&) noexcept = default;
  OpenedRocks& operator=(OpenedRocks&&) = delete;
  ~OpenedRocks();
};

/// Makes what is missing. RocksDB deletes files that it has no use for.
Result<OpenedRocks> open_to_write(const std::filesystem::path& folder);

enum class Reading {
  Strict,    ///< Anything that was not written whole, but the end of the newest log, is an error.
  Whatever,  ///< All that can be read.
};
/// Changes no file and makes none.
Result<OpenedRocks> open_to_read(const std::filesystem::path& folder, Reading reading);

/// What can be read of each family. Nothing is thrown at the first error: where `first_problem` is
/// not null it gets it, and the count goes on with the next family.
RecordCounts count_records(const OpenedRocks& rocks, rocksdb::Status* first_problem);

}  // namespace gpuemu::storage
