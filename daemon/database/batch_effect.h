// Private to this folder: the records that a batch adds and removes.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

#include "daemon/database/ledger_keeper.h"
#include "daemon/database/rocks.h"
#include "daemon/database/write_gate.h"

namespace gpuemu::storage {

class BatchEffect : public rocksdb::WriteBatch::Handler {
 public:
  /// Both arguments outlive this object, and the batch must not change.
  BatchEffect(const OpenedRocks& rocks, const rocksdb::WriteBatch& batch);

  /// Returns the keys of the counted families that the batch writes.
  WriteGate::Claim claim() const;
  /// Returns how the batch changes the record counts of the current database. REQUIRES: the caller
  /// holds a pass for the claim.
  Result<RecordChanges> changes(const std::filesystem::path& folder);

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override;
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override;
  rocksdb::Status DeleteRangeCF(uint32_t family, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override;

 private:
  /// One change of the batch, in batch order: a key, or the range from `key` to `end`.
  struct Change {
    rocksdb::Slice key, end;
    bool exists = false, is_range = false;
  };
  /// By key, as of the part of the batch seen so far.
  using Existing = std::map<std::string, bool>;
  void add(uint32_t family, const Change& change);
  Result<int64_t> change_by_keys(size_t family, const std::filesystem::path& folder);
  Result<int64_t> change_with_ranges(size_t family, const std::filesystem::path& folder) const;
  rocksdb::Status set(size_t family, const std::string& key, bool exists, Existing& seen,
                      int64_t& change) const;
  rocksdb::Status erase_range(size_t family, const Change& range, Existing& seen,
                              int64_t& change) const;

  const OpenedRocks& rocks_;
  std::array<uint32_t, kCountedFamilies> numbers_{};  ///< RocksDB's ids of the counted families.
  std::array<std::vector<Change>, kCountedFamilies> all_;  ///< Keys point into the batch.
  bool has_ranges_ = false;
};

}  // namespace gpuemu::storage
