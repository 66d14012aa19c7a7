// Reads everything in a database.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <rocksdb/db.h>

#include "common/protocol/storage.gen.h"
#include "daemon/database/rocks.h"

namespace gpuemu::storage {

/// Reads every table, record and index entry, as of `snapshot` (null: now). `problems` are known
/// already. Without `expected`, the records that are found count as complete.
StorageReportReply verify_records(const OpenedRocks& rocks, const std::filesystem::path& folder,
                                  const rocksdb::Snapshot* snapshot,
                                  const std::optional<RecordCounts>& expected,
                                  std::vector<FileProblem> problems);

/// Splits a key into the prefix of the project, with its '/', and the rest. A key without a project
/// has no prefix.
std::pair<std::string_view, std::string_view> split_key(std::string_view whole);
/// Returns whether a record (its key without the prefix) is well-formed.
bool is_readable(Family family, std::string_view key, std::string_view value);
std::map<std::string, uint64_t> by_kind(const RecordCounts& counts);

/// Returns what the report lists as unreadable, by kind.
RecordCounts lacking(const StorageReportReply& report);

/// Reports what is known about the records of a database that RocksDB does not open. Without
/// `expected`, the number of records is unknown.
StorageReportReply unopened_report(const std::optional<RecordCounts>& expected,
                                   const RecordCounts& readable, std::vector<FileProblem> problems);

}  // namespace gpuemu::storage
