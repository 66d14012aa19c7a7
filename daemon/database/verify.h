// Reads everything that a database holds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <rocksdb/db.h>

#include "common/protocol/replies.h"
#include "daemon/database/rocks.h"

namespace gpuemu::storage {

/// Reads every table, record and index entry, as they are in `snapshot` (null: now). `problems` are
/// known already. Without `expected` all records that are found are those there should be.
StorageReportReply verify_records(const OpenedRocks& rocks, const std::filesystem::path& folder,
                                  const rocksdb::Snapshot* snapshot,
                                  const std::optional<RecordCounts>& expected,
                                  std::vector<FileProblem> problems);

/// The prefix of the project, with its '/', and the rest. A key without a project has no prefix.
std::pair<std::string_view, std::string_view> split_key(std::string_view whole);
/// Whether a record (its key without the prefix) is as it may have been stored.
bool is_readable(Family family, std::string_view key, std::string_view value);
std::map<std::string, uint64_t> by_kind(const RecordCounts& counts);

/// What the report says cannot be read, by kind.
RecordCounts lacking(const StorageReportReply& report);

/// For a database that RocksDB does not open: what is known of its records. Nothing `expected`: as
/// many as there are.
StorageReportReply unopened_report(const std::optional<RecordCounts>& expected,
                                   const RecordCounts& readable, std::vector<FileProblem> problems);

}  // namespace gpuemu::storage
