// Opens RocksDB, and turns its statuses into errors.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "common/base/result.h"
#include "common/protocol/replies.h"
#include "daemon/database/ledger.h"

namespace gpuemu::storage {

/// RocksDB's statuses become errors here and nowhere else.
Error error_of(const rocksdb::Status& status, const std::filesystem::path& folder);

/// The file that a message of RocksDB is about, "" where it names none, and what is wrong with it.
FileProblem problem_of(const rocksdb::Status& status, const std::filesystem::path& folder);
/// Whether stored bytes are not what was written, or a file of the database is gone.
bool is_damage(const rocksdb::Status& status);

/// An open database with the handles of its families.
struct OpenedRocks {
  std::unique_ptr<rocksdb::DB> db;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> handles{};  ///< Null: it has none.
  /// How often RocksDB has begun another buffer, and with it another log. Null where nothing is
  /// written.
  std::shared_ptr<const std::atomic<uint64_t>> logs_begun;

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

/// At the end of a `scratch` that lies beside the folder; one that a killed process left is
/// removed.
inline constexpr char kTablesSuffix[] = ".tables";
/// Makes `scratch` a database of all tables and logs of `folder` that can be read as a whole,
/// without asking which of them belong to it. Families may have a record without a key that was
/// none of theirs.
Status gather_tables(const std::filesystem::path& folder, const std::filesystem::path& scratch);

/// What can be read of each family. Where `first_problem` is not null it gets the first that was
/// met.
RecordCounts count_records(const OpenedRocks& rocks, rocksdb::Status* first_problem,
                           const rocksdb::ReadOptions& options = {});

}  // namespace gpuemu::storage
