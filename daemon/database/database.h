// RocksDB with our column families and errors, and the ledger of what was acknowledged. No more
// than one process has a database open. All calls from any thread.
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
#include "common/protocol/replies.h"
#include "daemon/database/ledger_keeper.h"
#include "daemon/database/rocks.h"

namespace gpuemu::storage {

class Database {
 public:
  /// Corruption, with the folder as it was, when something acknowledged is missing.
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& folder);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Writes everything or nothing; returns when it is on disk. ResourceExhausted while that is
  /// nearly full. This and all reading is Unavailable while the folder is deleted or replaced.
  Status write(rocksdb::WriteBatch& batch);
  /// As write(), if `holds` says so while no other write touches the records of the batch. False,
  /// with nothing written, if it does not.
  Result<bool> write_if(rocksdb::WriteBatch& batch, const std::function<Result<bool>()>& holds);
  Result<std::optional<std::string>> get(Family family, std::string_view key);
  /// get() of each, in less time.
  Result<std::vector<std::optional<std::string>>> get_all(Family family,
                                                          const std::vector<std::string>& keys);
  /// Calls with every entry whose key starts with `prefix`, in order, until `visit` returns false.
  Status scan(
      Family family, std::string_view prefix,
      const std::function<Result<bool>(std::string_view key, std::string_view value)>& visit);

  /// About how much of the disk the keys with this prefix take, over all families.
  Result<uint64_t> bytes_below(std::string_view prefix);
  /// Returns to the disk what was erased from these families.
  Status give_back(const std::vector<Family>& families);

  /// Writes all to tables and those anew, without what was erased.
  Status compact();

  /// Reads every file, record and index entry.
  StorageReportReply verify();
  /// What is known to be damaged, as damage_error() says it; "" for nothing. Reading meets it:
  /// Corruption with this text.
  std::string damage() const;
  /// Makes `place`, which must not exist, a database of hard links to the tables, with all that is
  /// acknowledged; returns how many records that is.
  Result<RecordCounts> checkpoint(const std::filesystem::path& place);
  const std::filesystem::path& folder() const { return folder_; }

  void put(rocksdb::WriteBatch& batch, Family family, std::string_view key, std::string_view value);
  void erase(rocksdb::WriteBatch& batch, Family family, std::string_view key);
  /// Every key that starts with `prefix`.
  void erase_all(rocksdb::WriteBatch& batch, Family family, std::string_view prefix);

  /// What a user should know about how it was found; "" for nothing.
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
  // The log in use, its inode, and OpenedRocks::logs_begun when it was. Guarded by place_mutex_.
  std::string log_path_;
  ino_t log_inode_ = 0;
  uint64_t logs_begun_ = 0;
  mutable std::mutex damage_mutex_;
  std::string damage_;  ///< Guarded by damage_mutex_.
};

}  // namespace gpuemu::storage
