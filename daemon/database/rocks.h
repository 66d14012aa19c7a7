// Opens RocksDB, and turns its statuses into errors.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "common/base/result.h"
#include "common/protocol/storage.gen.h"
#include "daemon/database/ledger.h"

namespace gpuemu::storage {

/// Converts a RocksDB status to an error; all conversions happen here.
Error error_of(const rocksdb::Status& status, const std::filesystem::path& folder);

/// Returns the file that a RocksDB message refers to, "" if it names none, and the problem.
FileProblem problem_of(const rocksdb::Status& status, const std::filesystem::path& folder);
/// Returns whether stored bytes were altered or a file of the database is gone.
bool is_damage(const rocksdb::Status& status);

/// An open database with the handles of its families.
struct OpenedRocks {
  std::unique_ptr<rocksdb::DB> db;
  /// Null: the database lacks the family.
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> handles{};
  /// How often RocksDB has begun another buffer, and with it another log. Null if the database is
  /// open for reading only.
  std::shared_ptr<const std::atomic<uint64_t>> logs_begun;

  OpenedRocks() = default;
  OpenedRocks(OpenedRocks&&) noexcept = default;
  OpenedRocks& operator=(OpenedRocks&&) = delete;
  ~OpenedRocks();
};

/// Opens the database and creates what is missing. RocksDB deletes files that it does not need.
Result<OpenedRocks> open_to_write(const std::filesystem::path& folder);

enum class Reading {
  Strict,    ///< Incomplete data is an error, except at the end of the newest log.
  Whatever,  ///< Reads everything that can be read.
};
/// Opens the database without changing or creating any file.
Result<OpenedRocks> open_to_read(const std::filesystem::path& folder, Reading reading);

/// The suffix of `scratch` folders beside the database folder; one that a killed process left
/// behind is removed.
inline constexpr char kTablesSuffix[] = ".tables";
/// Makes `scratch` a database of all tables and logs of `folder` that can be read as a whole, no
/// matter whether they belong to it. Families may contain a record with an empty key that is not
/// theirs.
Status gather_tables(const std::filesystem::path& folder, const std::filesystem::path& scratch);

/// Returns what is wrong with the first table that cannot be opened: RocksDB's own message names
/// the manifest. Nothing if all can be.
std::optional<FileProblem> unreadable_table(const std::filesystem::path& folder);

/// Counts the readable records of each family. Stores the first problem in `first_problem`, unless
/// that is null.
RecordCounts count_records(const OpenedRocks& rocks, rocksdb::Status* first_problem,
                           const rocksdb::ReadOptions& options = {});

}  // namespace gpuemu::storage
