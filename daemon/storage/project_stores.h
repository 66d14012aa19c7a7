// The database of all projects. A project cannot access another's records. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/storage.gen.h"
#include "daemon/records/stored_project.h"
#include "daemon/storage/pruning.h"
#include "daemon/storage/store.h"

namespace gpuemu {

/// A request to move records from project `from` to project `to`.
struct Taking {
  std::string from, to;  ///< Project ids.
  bool all = false;      ///< Every record, not only those of `ops` and `kernels`.
  std::set<std::string> ops, kernels;
  bool dry_run = false;  ///< Only count.
};
/// How many records of each kind were moved.
struct Taken {
  uint64_t results = 0, failures = 0, baselines = 0, artifacts = 0, corpus = 0;
  std::set<std::string> ops;  ///< Names of the ops of moved results and failures.

  bool operator==(const Taken&) const = default;
};

class ProjectStores {
 public:
  virtual ~ProjectStores() = default;

  /// Returns the store of the project with this id, the same one for every call. It may outlive
  /// this object.
  virtual Result<std::shared_ptr<Store>> of(const std::string& project) = 0;
  /// Adds the project to the list, or replaces the entry with its id.
  virtual Status remember(const StoredProject& project) = 0;
  /// Returns all remembered projects, sorted by id.
  virtual Result<std::vector<StoredProject>> projects() = 0;
  /// Moves records, each together with its index entries. If `to` already has a baseline or kernel
  /// metrics of the same name, both stay where they are. Of two results, the newer one is kept.
  virtual Result<Taken> take(const Taking& taking) = 0;
  /// Deletes all records of the project and its entry in the list, in one step.
  virtual Status forget(const std::string& project) = 0;
  /// Returns the bytes of all keys and values of the project, like status(). Reads them all.
  virtual Result<uint64_t> bytes(const std::string& project) = 0;
  /// Counts what is stored for these projects. If a record cannot be read, `damaged` is set and the
  /// others are counted.
  virtual Result<StorageStatusReply> status(const std::vector<StoredProject>& listed) = 0;
  /// Deletes records, each together with its index entries, except records that were replaced
  /// meanwhile.
  virtual Result<PrunedTotals> prune(const Pruning& pruning) = 0;
  /// Reads every file, checksum, record and index entry.
  virtual Result<StorageReportReply> verify() = 0;
  /// Writes a copy of everything acknowledged before the call, while others continue to write. The
  /// target, an absolute path, must not exist; it appears complete or not at all.
  virtual Status back_up(const std::filesystem::path& place) = 0;
  /// Returns unused bytes to the disk.
  virtual Result<StorageCompactedReply> compact() = 0;
  /// Returns known damage in the database; "" for none.
  virtual std::string damage() const { return ""; }
  /// Returns a sentence for the user about opening the database, such as a migration; "" for none.
  virtual std::string note() const { return ""; }
};

/// A project, and the ops and kernels whose records it claims from a database without projects.
struct ProjectNames {
  std::string id;
  std::set<std::string> ops, kernels;
};

/// Like ProjectStores::verify(), for a database that no daemon has open, damaged or not. Changes
/// nothing.
StorageReportReply verify_store(const std::filesystem::path& folder);

/// Replaces a damaged database by one with everything readable; the damaged one is kept as
/// FOLDER.damaged-TIME. Does nothing to an undamaged one. With `dry_run`, the reply says what would
/// be lost. No daemon may have it open.
Result<StorageReportReply> repair_store(const std::filesystem::path& folder, bool dry_run);

/// Replaces the database by the backup; the old one is kept as FOLDER.before-TIME. InvalidArgument
/// if the backup is not a database, or if the database has records and `force` is false; Corruption
/// if the backup is damaged. No daemon may have either open.
Result<StorageReportReply> restore_store(const std::filesystem::path& folder,
                                         const std::filesystem::path& backup, bool force);

/// Opens the database in `folder`, creating it if necessary. Migrates a database without projects
/// first; after a crash it is either migrated or unchanged. Records of the ops and kernels of
/// `first` go to that project, the rest to kLegacyProject, and the old database is kept as
/// FOLDER.schema1. Errors: Unavailable if another daemon has it open, Unsupported if a newer gpuemu
/// wrote it, Corruption as for check_store(), ResourceExhausted if there is no room to migrate it,
/// otherwise Io.
Result<std::unique_ptr<ProjectStores>> open_stores(const std::filesystem::path& folder,
                                                   const ProjectNames& first);

}  // namespace gpuemu
