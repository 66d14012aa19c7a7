// Checks whether everything that was acknowledged is still in the database folder. Done before
// RocksDB opens it for writing, because RocksDB then deletes files that it does not know.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/protocol/storage.gen.h"
#include "daemon/database/ledger.h"

namespace gpuemu::storage {

/// What is known about an intact database.
struct Checked {
  bool is_new = false;                 ///< There is no database yet.
  std::optional<RecordCounts> counts;  ///< Nothing: they must be counted.
  std::optional<Ledger> ledger;        ///< As found in the folder.
  std::string note;                    ///< What the user should know nevertheless.
};

/// Returns Corruption if anything acknowledged is missing, with the file, the problem, and how many
/// records of which kind cannot be read. Changes nothing.
Result<Checked> check_database(const std::filesystem::path& folder);

/// Makes the error for a database in which `lacking` of the `expected` records cannot be read.
/// `problem` begins with the file.
Error damage_error(const std::filesystem::path& folder, const std::string& problem,
                   const RecordCounts& expected, const RecordCounts& lacking);
/// Returns the records of `expected` that `found` lacks, by kind.
RecordCounts missing(const RecordCounts& expected, const RecordCounts& found);
/// Formats the problem for messages: "000012.sst: its block is damaged".
std::string text_of(const FileProblem& problem);

/// Returns whether the folder contains more than a daemon leaves behind if it is killed while
/// creating the database.
bool has_database(const std::filesystem::path& folder);

/// Reads everything, intact or damaged, and changes nothing. No process may have it open for
/// writing.
StorageReportReply verify_folder(const std::filesystem::path& folder);

/// Returns whether RocksDB's list of tables is as it was written, according to check_files().
bool knows_tables(const std::vector<FileProblem>& problems);

/// Returns the files listed in the ledger that are not as they were written, including the ledger
/// itself.
std::vector<FileProblem> check_files(const std::filesystem::path& folder);

}  // namespace gpuemu::storage
