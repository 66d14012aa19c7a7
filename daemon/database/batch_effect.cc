#include "daemon/database/batch_effect.h"

#include <algorithm>
#include <functional>
#include <memory>

namespace gpuemu::storage {

BatchEffect::BatchEffect(const OpenedRocks& rocks, const rocksdb::WriteBatch& batch)
    : rocks_(rocks) {
  for (size_t i = 0; i < kCountedFamilies; ++i) numbers_[i] = rocks.handles[i]->GetID();
  batch.Iterate(this).PermitUncheckedError();  // The batch is our own; writing it reports errors.
}

void BatchEffect::add(uint32_t family, const Change& change) {
  const auto found = std::ranges::find(numbers_, family);
  if (found == numbers_.end()) return;
  all_[static_cast<size_t>(found - numbers_.begin())].push_back(change);
  has_ranges_ |= change.is_range;
}

rocksdb::Status BatchEffect::PutCF(uint32_t family, const rocksdb::Slice& key,
                                   const rocksdb::Slice&) {
  add(family, {.key = key, .end = {}, .exists = true});
  return rocksdb::Status::OK();
}

rocksdb::Status BatchEffect::DeleteCF(uint32_t family, const rocksdb::Slice& key) {
  add(family, {.key = key, .end = {}});
  return rocksdb::Status::OK();
}

rocksdb::Status BatchEffect::DeleteRangeCF(uint32_t family, const rocksdb::Slice& begin,
                                           const rocksdb::Slice& end) {
  add(family, {.key = begin, .end = end, .is_range = true});
  return rocksdb::Status::OK();
}

WriteGate::Claim BatchEffect::claim() const {
  if (has_ranges_) return {.keys = {}, .everything = true};
  WriteGate::Claim claim;
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    for (const Change& one : all_[i]) {
      claim.keys.push_back(std::hash<std::string_view>()(one.key.ToStringView()) + i);
    }
  }
  return claim;
}

Result<RecordChanges> BatchEffect::changes(const std::filesystem::path& folder) {
  RecordChanges changes{};
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    if (all_[i].empty()) continue;
    changes[i] =
        GPUEMU_TRY(has_ranges_ ? change_with_ranges(i, folder) : change_by_keys(i, folder));
  }
  return changes;
}

/// Looks all keys up at once, which takes a third of the time of one after another. For each key,
/// the last change in the batch counts.
Result<int64_t> BatchEffect::change_by_keys(size_t family, const std::filesystem::path& folder) {
  std::vector<Change>& all = all_[family];
  const auto comes_before = [](const Change& one, const Change& other) {
    return one.key.compare(other.key) < 0;
  };
  if (!std::ranges::is_sorted(all, comes_before)) std::ranges::stable_sort(all, comes_before);
  std::vector<rocksdb::Slice> keys;
  std::vector<bool> exist;
  for (const Change& one : all) {
    if (keys.empty() || keys.back() != one.key) {
      keys.push_back(one.key);
      exist.push_back(one.exists);
    } else {
      exist.back() = one.exists;
    }
  }
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> found(keys.size());
  constexpr bool kSorted = true;
  rocks_.db->MultiGet(rocksdb::ReadOptions(), rocks_.handles[family], keys.size(), keys.data(),
                      values.data(), found.data(), kSorted);
  int64_t change = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!found[i].ok() && !found[i].IsNotFound()) return error_of(found[i], folder);
    change += static_cast<int>(exist[i]) - static_cast<int>(found[i].ok());
  }
  return change;
}

Result<int64_t> BatchEffect::change_with_ranges(size_t family,
                                                const std::filesystem::path& folder) const {
  Existing seen;
  int64_t change = 0;
  for (const Change& one : all_[family]) {
    const auto status = one.is_range ? erase_range(family, one, seen, change)
                                     : set(family, one.key.ToString(), one.exists, seen, change);
    if (!status.ok()) return error_of(status, folder);
  }
  return change;
}

rocksdb::Status BatchEffect::set(size_t family, const std::string& key, bool exists, Existing& seen,
                                 int64_t& change) const {
  const auto [known, first] = seen.try_emplace(key, false);
  if (first) {
    rocksdb::PinnableSlice value;
    const auto status = rocks_.db->Get(rocksdb::ReadOptions(), rocks_.handles[family], key, &value);
    if (!status.ok() && !status.IsNotFound()) return status;
    known->second = status.ok();
  }
  change += static_cast<int>(exists) - static_cast<int>(known->second);
  known->second = exists;
  return rocksdb::Status::OK();
}

rocksdb::Status BatchEffect::erase_range(size_t family, const Change& range, Existing& seen,
                                         int64_t& change) const {
  const std::string end = range.end.ToString();
  for (auto entry = seen.lower_bound(range.key.ToString());
       entry != seen.end() && entry->first < end; ++entry) {
    const auto status = set(family, entry->first, false, seen, change);
    if (!status.ok()) return status;
  }
  const std::unique_ptr<rocksdb::Iterator> stored(
      rocks_.db->NewIterator(rocksdb::ReadOptions(), rocks_.handles[family]));
  for (stored->Seek(range.key); stored->Valid() && stored->key().compare(range.end) < 0;
       stored->Next()) {
    const auto status = set(family, stored->key().ToString(), false, seen, change);
    if (!status.ok()) return status;
  }
  return stored->status();
}

}  // namespace gpuemu::storage
