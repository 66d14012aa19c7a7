// Tells whether everything that was acknowledged is still in the database folder. Asked before
// RocksDB opens it to write, because it then deletes what it cannot account for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/protocol/replies.h"
#include "daemon/database/ledger.h"

namespace gpuemu::storage {

/// What is known of a database that is whole.
struct Checked {
  bool is_new = false;                 ///< There is no database yet.
  std::optional<RecordCounts> counts;  ///< Nothing: they have to be counted.
  std::optional<Ledger> ledger;        ///< As it was found.
  std::string note;                    ///< What a user should know all the same.
};

/// Corruption when anything acknowledged is missing: which file, what is wrong with it, how many
/// records of which kind cannot be read. Changes nothing.
Result<Checked> check_database(const std::filesystem::path& folder);

/// What a database is told with of which `lacking` of the `expected` records cannot be read.
/// `problem` begins with the file.
Error damage_error(const std::filesystem::path& folder, const std::string& problem,
                   const RecordCounts& expected, const RecordCounts& lacking);
/// Records of `expected` that `found` lacks, by kind.
RecordCounts missing(const RecordCounts& expected, const RecordCounts& found);
/// As it stands in messages: "000012.sst: its block is damaged".
std::string text_of(const FileProblem& problem);

/// Whether there is more in the folder than a daemon leaves that was killed as it made the
/// database.
bool has_database(const std::filesystem::path& folder);

/// Reads everything, whole or damaged, and changes nothing. No process may have it open to write.
StorageReportReply verify_folder(const std::filesystem::path& folder);

/// Whether RocksDB's list of the tables is as it was written, by what check_files() says.
bool knows_tables(const std::vector<FileProblem>& problems);

/// The files that the ledger vouches for and that are not as they were written, the ledger among
/// them.
std::vector<FileProblem> check_files(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
