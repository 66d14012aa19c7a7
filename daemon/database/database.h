// RocksDB with our column families and errors, and the ledger of what was acknowledged. At most one
// process has a database open. All calls may come from any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/write_batch.h>
#include <sys/types.h>

#include "common/base/result.h"
#include "common/protocol/storage.gen.h"
#include "daemon/database/ledger_keeper.h"
#include "daemon/database/rocks.h"

namespace gpuemu::storage {

class Database {
 public:
  /// Opens the database. Corruption if anything acknowledged is missing; the folder is then
  /// unchanged.
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& folder);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Writes everything or nothing; returns when it is on disk. ResourceExhausted while the disk is
  /// nearly full. Writing and all reading fail with Unavailable once the folder was deleted or
  /// replaced.
  Status write(rocksdb::WriteBatch& batch);
  /// Like write(), if `holds` returns true while no other write touches the records of the batch.
  /// Returns false and writes nothing if it does not.
  Result<bool> write_if(rocksdb::WriteBatch& batch, const std::function<Result<bool>()>& holds);
  Result<std::optional<std::string>> get(Family family, std::string_view key);
  /// Like get() for each key, but faster.
  Result<std::vector<std::optional<std::string>>> get_all(Family family,
                                                          const std::vector<std::string>& keys);
  /// Calls `visit` with every entry whose key starts with `prefix`, in order, until it returns
  /// false.
  Status scan(
      Family family, std::string_view prefix,
      const std::function<Result<bool>(std::string_view key, std::string_view value)>& visit);

  /// Returns the disk space of what was erased from these families.
  Status give_back(const std::vector<Family>& families);

  /// Writes everything to tables and rewrites those without what was erased.
  Status compact();

  /// Reads every file, record and index entry.
  StorageReportReply verify();
  /// Returns the known damage as damage_error() words it; "" if there is none. Reads that meet it
  /// fail with Corruption and this text.
  std::string damage() const;
  /// Makes `place`, which must not exist, a database of hard links to the tables, with everything
  /// acknowledged so far; returns how many records that is.
  Result<RecordCounts> checkpoint(const std::filesystem::path& place);
  const std::filesystem::path& folder() const { return folder_; }

  void put(rocksdb::WriteBatch& batch, Family family, std::string_view key, std::string_view value);
  void erase(rocksdb::WriteBatch& batch, Family family, std::string_view key);
  /// Erases every key that starts with `prefix`.
  void erase_all(rocksdb::WriteBatch& batch, Family family, std::string_view prefix);

  /// What the user should know about the state in which it was found; "" for nothing.
  const std::string& note() const { return note_; }

 private:
  Database(std::filesystem::path folder, OpenedRocks rocks)
      : folder_(std::move(folder)), rocks_(std::move(rocks)), keeper_(folder_, *rocks_.db, gate_) {}
  enum class Tried { Written, WouldShrink, DoesNotHold };
  Result<Tried> try_write(rocksdb::WriteBatch& batch, const std::function<Result<bool>()>& holds,
                          bool may_shrink);
  Status check_space(uint64_t bytes) const;
  Status check_place();
  bool is_same_folder() const;
  bool is_known_log();
  bool is_same_log();
  Error gone() const;
  Error met(const rocksdb::Status& status);
  rocksdb::ColumnFamilyHandle* handle(Family family) {
    return rocks_.handles[static_cast<size_t>(family)];
  }

  const std::filesystem::path folder_;
  OpenedRocks rocks_;
  WriteGate gate_;
  LedgerKeeper keeper_;
  std::string note_;
  dev_t device_ = 0;  ///< The device of the folder when it was opened.
  ino_t inode_ = 0;
  std::mutex place_mutex_;
  // The log in use, its device and inode, and the value of OpenedRocks::logs_begun at that time.
  // Guarded by place_mutex_.
  std::string log_path_;
  dev_t log_device_ = 0;
  ino_t log_inode_ = 0;
  uint64_t logs_begun_ = 0;
  mutable std::mutex damage_mutex_;
  std::string damage_;  ///< Guarded by damage_mutex_.
};

}  // namespace gpuemu::storage
