// Private to this folder: which records a batch adds and takes away.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <rocksdb/write_batch.h>

#include "daemon/database/ledger_keeper.h"
#include "daemon/database/rocks.h"
#include "daemon/database/write_gate.h"

namespace gpuemu::storage {

class BatchEffect : public rocksdb::WriteBatch::Handler {
 public:
  /// `rocks` outlives it.
  explicit BatchEffect(const OpenedRocks& rocks) : rocks_(rocks) {}

  /// The keys of the counted families that the batch writes.
  WriteGate::Claim claim(const rocksdb::WriteBatch& batch);
  /// How the database as it is now is changed. REQUIRES: the caller holds a pass for the claim.
  Result<RecordChanges> changes(const rocksdb::WriteBatch& batch,
                                const std::filesystem::path& folder);

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override;
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override;
  rocksdb::Status DeleteRangeCF(uint32_t family, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override;

 private:
  using Key = std::pair<size_t, std::string>;  ///< Family and key.
  std::optional<size_t> counted(uint32_t family) const;
  rocksdb::Status set(size_t family, const std::string& key, bool exists);

  const OpenedRocks& rocks_;
  bool claims_ = true;  ///< Else it counts.
  WriteGate::Claim claim_;
  std::map<Key, bool> exists_;  ///< After what was seen of the batch.
  RecordChanges changes_{};
};

}  // namespace gpuemu::storage
