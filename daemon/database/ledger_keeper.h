// Writes the ledger of an open database at most kLedgerPeriod after a change.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <rocksdb/db.h>

#include "daemon/database/ledger.h"
#include "daemon/database/write_gate.h"

namespace gpuemu::storage {

inline constexpr std::chrono::milliseconds kLedgerPeriod{500};

/// The change in the number of records, by family.
using RecordChanges = std::array<int64_t, kCountedFamilies>;

class LedgerKeeper {
 public:
  /// `db` and `gate` outlive it.
  LedgerKeeper(std::filesystem::path folder, rocksdb::DB& db, WriteGate& gate)
      : folder_(std::move(folder)), db_(db), gate_(gate) {}
  /// Writes what has not been written yet.
  ~LedgerKeeper();
  LedgerKeeper(const LedgerKeeper&) = delete;
  LedgerKeeper& operator=(const LedgerKeeper&) = delete;

  /// Writes the ledger of the database as it was opened.
  Status start(const RecordCounts& counts);
  /// REQUIRES: the caller holds a pass of the gate.
  void add(const RecordChanges& changes);
  /// Returns the counts of the records. They match the disk if the caller holds a pass of the gate
  /// for everything; otherwise a batch that is being written may be missing.
  RecordCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  /// Stops all further changes to the ledger: a write failed, and the log may end with a part of
  /// it. REQUIRES: as for add().
  void freeze();
  /// Records on disk that there may soon be fewer records, as long as the returned value is held.
  class Shrinking;
  /// Returns why the ledger could not be written, or what happened to the files that it lists.
  Status problem() const;

 private:
  void run();
  Status write_now();
  bool take_snapshot(Ledger& ledger);
  Status extend_files(Ledger& ledger);

  const std::filesystem::path folder_;
  rocksdb::DB& db_;
  WriteGate& gate_;

  std::mutex writing_;  // Guards the file and written_.
  Ledger written_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_.
  RecordCounts counts_{};
  size_t shrinking_ = 0;
  bool dirty_ = false, ends_ = false, frozen_ = false;
  Status problem_ = ok_status();
  std::thread thread_;
};

/// Must be made before a pass of the gate is taken.
class LedgerKeeper::Shrinking {
 public:
  explicit Shrinking(LedgerKeeper& keeper) : keeper_(keeper) {
    {
      const std::lock_guard lock(keeper.mutex_);
      ++keeper.shrinking_;
    }
    written = keeper.write_now();
  }
  ~Shrinking() {
    const std::lock_guard lock(keeper_.mutex_);
    --keeper_.shrinking_;
    keeper_.dirty_ = true;
    keeper_.changed_.notify_all();
  }
  Shrinking(const Shrinking&) = delete;
  Shrinking& operator=(const Shrinking&) = delete;

  Status written = ok_status();

 private:
  LedgerKeeper& keeper_;
};

}  // namespace gpuemu::storage
