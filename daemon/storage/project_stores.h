// The database of all projects. No project sees the records of another. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/replies.h"
#include "daemon/records/stored_project.h"
#include "daemon/storage/pruning.h"
#include "daemon/storage/store.h"

namespace gpuemu {

/// Moves records from project `from` to project `to`.
struct Taking {
  std::string from, to;  ///< Project ids.
  bool all = false;      ///< Every record, not only those of `ops` and `kernels`.
  std::set<std::string> ops, kernels;
  bool dry_run = false;  ///< Count only.
};
/// How many records of each kind a Taking claimed.
struct Taken {
  uint64_t results = 0, failures = 0, baselines = 0, artifacts = 0, corpus = 0;
  std::set<std::string> ops;  ///< Names that the results and failures have.

  bool operator==(const Taken&) const = default;
};

class ProjectStores {
 public:
  virtual ~ProjectStores() = default;

  /// The store of the project with this id; the same one for every call. It may outlive this
  /// object.
  virtual Result<std::shared_ptr<Store>> of(const std::string& project) = 0;
  /// Adds the project to the list, or replaces the entry with its id.
  virtual Status remember(const StoredProject& project) = 0;
  /// All remembered projects, sorted by id.
  virtual Result<std::vector<StoredProject>> projects() = 0;
  /// Moves records, each together with its index entries. If `to` already has a baseline or kernel
  /// metrics of the same name, both stay where they are; of two results the newer one is kept.
  virtual Result<Taken> take(const Taking& taking) = 0;
  /// Deletes all records of the project and its entry in the list, in one step.
  virtual Status forget(const std::string& project) = 0;
  /// About how many bytes of the disk the records of the project take.
  virtual Result<uint64_t> bytes(const std::string& project) = 0;
  /// What is stored of these projects, counted. Where a record cannot be read `damaged` is set, and
  /// the counts are those of the others.
  virtual Result<StorageStatusReply> status(const std::vector<StoredProject>& listed) = 0;
  /// Deletes records, each together with its index entries and none that was replaced meanwhile.
  virtual Result<PrunedTotals> prune(const Pruning& pruning) = 0;
  /// Reads every file, checksum, record and index entry.
  virtual Result<StorageReportReply> verify() = 0;
  /// Writes a copy of everything acknowledged before the call, while others go on writing. The
  /// place, an absolute path, must not exist, and appears whole or not at all.
  virtual Status back_up(const std::filesystem::path& place) = 0;
  /// Gives unused bytes back to the disk.
  virtual Result<StorageCompactedReply> compact() = 0;
  /// What is known to be damaged in the database; "" for nothing.
  virtual std::string damage() const { return ""; }
  /// A sentence for the user about opening the database, such as a migration; "" for none.
  virtual std::string note() const { return ""; }
};

/// A project, and the ops and kernels whose records it claims from a database without projects.
struct ProjectNames {
  std::string id;
  std::set<std::string> ops, kernels;
};

/// As ProjectStores::verify(), of a database that no daemon has open, damaged or not. Changes
/// nothing.
StorageReportReply verify_store(const std::filesystem::path& folder);

/// Puts a database of all that can be read in the place of a damaged one, which is kept as
/// FOLDER.damaged-TIME. A whole one is left alone. With `dry_run` the reply says what would be
/// lost. No daemon may have it open.
Result<StorageReportReply> repair_store(const std::filesystem::path& folder, bool dry_run);

/// Puts the backup in the place of the database; what is there is kept as FOLDER.before-TIME.
/// InvalidArgument where the backup is no database, or where the database has records and `force`
/// is false; Corruption where the backup is damaged. No daemon may have either open.
Result<StorageReportReply> restore_store(const std::filesystem::path& folder,
                                         const std::filesystem::path& backup, bool force);

/// Opens the database in `folder`, creating it if needed. A database without projects is migrated
/// first; a crash leaves it migrated or untouched. Records of the ops and kernels of `first` go to
/// that project, the rest to kLegacyProject, and the old database is kept as FOLDER.schema1.
/// Unavailable when another daemon has it open, Unsupported when a newer gpuemu wrote it,
/// Corruption as for check_store, ResourceExhausted without room to migrate it, Io otherwise.
Result<std::unique_ptr<ProjectStores>> open_stores(const std::filesystem::path& folder,
                                                   const ProjectNames& first);

}  // namespace gpuemu
