// Reads everything that a database holds.
#pragma once

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

/// What is known without reading any record.
StorageReportReply unread_report(const RecordCounts& expected, std::vector<FileProblem> problems);

}  // namespace gpuemu::storage
