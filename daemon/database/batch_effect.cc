#include "daemon/database/batch_effect.h"

#include <memory>

namespace gpuemu::storage {

std::optional<size_t> BatchEffect::counted(uint32_t family) const {
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    if (rocks_.handles[i]->GetID() == family) return i;
  }
  return std::nullopt;
}

WriteGate::Claim BatchEffect::claim(const rocksdb::WriteBatch& batch) {
  claims_ = true;
  claim_ = {};
  batch.Iterate(this).PermitUncheckedError();  // It is our own; changes() would say so.
  return std::move(claim_);
}

Result<RecordChanges> BatchEffect::changes(const rocksdb::WriteBatch& batch,
                                           const std::filesystem::path& folder) {
  claims_ = false;
  exists_.clear();
  changes_ = {};
  const rocksdb::Status status = batch.Iterate(this);
  if (!status.ok()) return error_of(status, folder);
  return changes_;
}

rocksdb::Status BatchEffect::set(size_t family, const std::string& key, bool exists) {
  if (claims_) {
    claim_.keys.push_back(std::to_string(family) + key);
    return rocksdb::Status::OK();
  }
  const auto [known, first] = exists_.try_emplace({family, key}, false);
  if (first) {
    rocksdb::PinnableSlice value;
    const auto status = rocks_.db->Get(rocksdb::ReadOptions(), rocks_.handles[family], key, &value);
    if (!status.ok() && !status.IsNotFound()) return status;
    known->second = status.ok();
  }
  changes_[family] += static_cast<int>(exists) - static_cast<int>(known->second);
  known->second = exists;
  return rocksdb::Status::OK();
}

rocksdb::Status BatchEffect::PutCF(uint32_t family, const rocksdb::Slice& key,
                                   const rocksdb::Slice&) {
  const auto at = counted(family);
  return at ? set(*at, key.ToString(), true) : rocksdb::Status::OK();
}

rocksdb::Status BatchEffect::DeleteCF(uint32_t family, const rocksdb::Slice& key) {
  const auto at = counted(family);
  return at ? set(*at, key.ToString(), false) : rocksdb::Status::OK();
}

rocksdb::Status BatchEffect::DeleteRangeCF(uint32_t family, const rocksdb::Slice& begin,
                                           const rocksdb::Slice& end) {
  const auto at = counted(family);
  if (!at) return rocksdb::Status::OK();
  if (claims_) {
    claim_.everything = true;
    return rocksdb::Status::OK();
  }
  for (auto entry = exists_.lower_bound({*at, begin.ToString()});
       entry != exists_.end() && entry->first < Key{*at, end.ToString()}; ++entry) {
    const auto status = set(*at, entry->first.second, false);
    if (!status.ok()) return status;
  }
  const std::unique_ptr<rocksdb::Iterator> stored(
      rocks_.db->NewIterator(rocksdb::ReadOptions(), rocks_.handles[*at]));
  for (stored->Seek(begin); stored->Valid() && stored->key().compare(end) < 0; stored->Next()) {
    const auto status = set(*at, stored->key().ToString(), false);
    if (!status.ok()) return status;
  }
  return stored->status();
}

}  // namespace gpuemu::storage
