// One project's store on disk. Every change is a single synced batch, so a crash leaves all or none
// of it.
#include "daemon/storage/rocks_store.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "daemon/records/keys.h"
#include "daemon/records/values.h"
#include "daemon/storage/project_keys.h"
#include "daemon/storage/snapshot_budget.h"
#include "daemon/storage/stored_artifacts.h"

namespace gpuemu {
namespace {

using storage::Database;
using storage::Family;
using storage::ProjectKeys;
using storage::Stamps;

Result<uint64_t> parse_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc() && end == text.data() + text.size()) return number;
  return error(ErrorCode::Corruption, "a stored key holds '{}', expected a number", text);
}

ValidationResult without_snapshot(ValidationResult result) {
  if (result.repro_info) result.repro_info->input_snapshot.reset();
  return result;
}

// Limit of the keys deleted in one batch.
constexpr size_t kDeletedBatchBytes = size_t{1} << 20;

class RocksStore : public Store {
 public:
  RocksStore(std::unique_ptr<ProjectKeys> database, std::shared_ptr<Stamps> stamps)
      : database_(std::move(database)), stamps_(std::move(stamps)), artifacts_(*database_) {}

  /// Raises the stamps above those of the stored records.
  Status start();

  Status put_results(std::span<const ResultToKeep> results) override;
  Result<ValidationResult> result(uint64_t seed, const std::string& op) override;
  Result<ValidationResult> failure(uint64_t seed, const std::string& op) override {
    return newest({'f', Family::Failures, "failure"}, seed, op);
  }
  Result<std::vector<ValidationResult>> list_results(size_t limit, const std::string& op) override {
    return list({'r', Family::Results, "result"}, limit, op, 0);
  }
  Result<std::vector<ValidationResult>> list_failures(size_t limit, const std::string& op,
                                                      size_t snapshot_bytes_max) override {
    return list({'f', Family::Failures, "failure"}, limit, op, snapshot_bytes_max);
  }
  Result<uint64_t> delete_failures(std::optional<uint64_t> seed, const std::string& op) override;
  Result<uint64_t> count_results() override { return count(Family::Results); }
  Result<uint64_t> count_failures() override { return count(Family::Failures); }

  Status put_baseline(const std::string& tag,
                      const std::vector<ValidationResult>& results) override;
  Result<std::vector<ValidationResult>> baseline(const std::string& tag) override;
  Result<std::vector<std::string>> list_baselines() override {
    return list_tags(Family::Baselines);
  }
  Status delete_baseline(const std::string& tag) override {
    return delete_tag(Family::Baselines, tag);
  }

  Status put_artifact(const ArtifactMetrics& metrics) override { return artifacts_.put(metrics); }
  Result<ArtifactMetrics> artifact_at(const std::string& kernel,
                                      std::optional<uint64_t> time) override {
    return artifacts_.at(kernel, time);
  }
  Result<std::vector<ArtifactMetrics>> list_artifacts() override { return artifacts_.newest(); }
  Result<std::vector<ArtifactMetrics>> artifact_history(const std::string& kernel) override {
    return artifacts_.all(kernel);
  }
  Status put_artifact_baseline(const std::string& tag,
                               const std::vector<ArtifactMetrics>& metrics) override;
  Result<std::vector<ArtifactMetrics>> artifact_baseline(const std::string& tag) override;
  Result<std::vector<std::string>> list_artifact_baselines() override {
    return list_tags(Family::ArtifactBaselines);
  }
  Status delete_artifact_baseline(const std::string& tag) override {
    return delete_tag(Family::ArtifactBaselines, tag);
  }

  Status put_corpus(const std::string& op, std::span<const std::byte> entry) override;
  Result<std::vector<std::vector<std::byte>>> list_corpus(const std::string& op) override;
  Status replace_corpus(const std::string& op,
                        const std::vector<std::vector<std::byte>>& entries) override;

  Status put_meta(const std::string& name, const std::string& value) override;
  Result<std::optional<std::string>> meta(const std::string& name) override {
    return database_->get(Family::Meta, std::string(storage::kUserPrefix) + name);
  }

 private:
  struct Kind {
    char letter;
    Family family;
    const char* name;
  };

  uint64_t next_stamp() { return stamps_->next(); }
  /// Keys of index entries, and the key of the record that each refers to.
  using IndexEntries = std::vector<std::pair<std::string, std::string>>;
  Status add_result(rocksdb::WriteBatch& batch, IndexEntries& index, const ResultToKeep& kept,
                    uint64_t stamp, const std::optional<std::string>& replaced);
  Status erase_same_case(rocksdb::WriteBatch& batch, const ValidationResult& result);
  Status walk(const Kind& kind, const std::string& index_prefix,
              const std::function<bool(storage::StoredResult)>& visit);
  Result<ValidationResult> newest(const Kind& kind, uint64_t seed, const std::string& op);
  Result<std::vector<ValidationResult>> list(const Kind& kind, size_t limit, const std::string& op,
                                             size_t snapshot_bytes_max);
  bool is_mended(const storage::StoredResult& failure);
  Status erase_failure(rocksdb::WriteBatch& batch, std::string_view key,
                       const storage::FailureKey& parts);
  Result<uint64_t> count(Family family);
  Result<std::vector<std::string>> list_tags(Family family);
  Status delete_tag(Family family, const std::string& tag);
  Status require_tag(Family family, const std::string& tag);

  const std::unique_ptr<ProjectKeys> database_;
  const std::shared_ptr<Stamps> stamps_;
  storage::StoredArtifacts artifacts_;
};

Status RocksStore::start() {
  for (const std::string prefix : {"rt:", "ft:"}) {
    const auto visit = [&](std::string_view key, std::string_view) -> Result<bool> {
      stamps_->met(~GPUEMU_TRY(parse_number(key.substr(prefix.size()))));
      return false;  // The first entry is the newest.
    };
    GPUEMU_TRY(database_->scan(Family::Index, prefix, visit));
  }
  return ok_status();
}

/// Writes the keys of each family in order: RocksDB then inserts each near the one before.
Status RocksStore::put_results(std::span<const ResultToKeep> results) {
  std::vector<std::string> keys;
  std::vector<uint64_t> stamps;  // In the order of the results, which is that of listings.
  std::vector<size_t> order;
  for (const ResultToKeep& kept : results) {
    order.push_back(order.size());
    keys.push_back(storage::result_key(kept.result.op_name, kept.result.seed));
    stamps.push_back(next_stamp());
  }
  // Stable: of two results with the same key, the last one stays.
  std::ranges::stable_sort(order, {}, [&](size_t i) -> const std::string& { return keys[i]; });
  const auto replaced = GPUEMU_TRY(database_->get_all(Family::Results, keys));
  rocksdb::WriteBatch batch;
  IndexEntries index;
  for (const size_t i : order) {
    GPUEMU_TRY(add_result(batch, index, results[i], stamps[i], replaced[i]));
  }
  std::ranges::sort(index);
  for (const auto& [entry, key] : index) database_->put(batch, Family::Index, entry, key);
  return database_->write(batch);
}

/// `replaced` is the current value under the result's key.
Status RocksStore::add_result(rocksdb::WriteBatch& batch, IndexEntries& index,
                              const ResultToKeep& kept, uint64_t stamp,
                              const std::optional<std::string>& replaced) {
  const ValidationResult& result = kept.result;
  const std::string value = storage::encode_result(result, stamp, kept.inputs);
  const std::string key = storage::result_key(result.op_name, result.seed);
  // A record replaced in the same batch leaves invalid index entries, which readers skip.
  if (replaced) {
    // A damaged old record leaves its index entries invalid; the new one is still stored.
    if (const auto old = storage::stamp_of(*replaced)) {
      database_->erase(batch, Family::Index, storage::time_key('r', *old));
      database_->erase(batch, Family::Index, storage::seed_key('r', result.seed, *old));
    }
  }
  database_->put(batch, Family::Results, key,
                 kept.is_failure
                     ? storage::encode_result(without_snapshot(result), stamp, kept.inputs)
                     : value);
  index.emplace_back(storage::time_key('r', stamp), key);
  index.emplace_back(storage::seed_key('r', result.seed, stamp), key);
  if (kept.is_failure) {
    GPUEMU_TRY(erase_same_case(batch, result));
    const std::string failure = storage::failure_key(result.op_name, result.seed, stamp);
    database_->put(batch, Family::Failures, failure, value);
    index.emplace_back(storage::time_key('f', stamp), failure);
    index.emplace_back(storage::seed_key('f', result.seed, stamp), failure);
  }
  return ok_status();
}

/// Deletes failures of the same case that are on disk, not those of the same batch.
Status RocksStore::erase_same_case(rocksdb::WriteBatch& batch, const ValidationResult& result) {
  const std::string prefix = storage::result_key(result.op_name, result.seed) + ":";
  const auto visit = [&](std::string_view key, std::string_view value) -> Result<bool> {
    const auto parts = storage::parse_failure_key(key);
    if (!parts || parts->op != result.op_name || parts->seed != result.seed) return true;
    const auto record = storage::decode_result(value);
    if (!record || !is_same_case(record->result, result)) return true;
    database_->erase(batch, Family::Failures, key);
    database_->erase(batch, Family::Index, storage::time_key('f', parts->stamp));
    database_->erase(batch, Family::Index, storage::seed_key('f', parts->seed, parts->stamp));
    return true;
  };
  return database_->scan(Family::Failures, prefix, visit);
}

/// Visits records newest first, as long as `visit` returns true. Skips invalid index entries.
Status RocksStore::walk(const Kind& kind, const std::string& index_prefix,
                        const std::function<bool(storage::StoredResult)>& visit) {
  return database_->scan(Family::Index, index_prefix,
                         [&](std::string_view index_key, std::string_view key) -> Result<bool> {
                           const auto value = GPUEMU_TRY(database_->get(kind.family, key));
                           if (!value) return true;
                           const uint64_t stamp =
                               ~GPUEMU_TRY(parse_number(index_key.substr(index_prefix.size())));
                           auto record = storage::decode_result(*value);
                           if (!record) return record.error().with_context(std::string(key));
                           if (record->stamp != stamp) return true;
                           return visit(*std::move(record));
                         });
}

Result<ValidationResult> RocksStore::newest(const Kind& kind, uint64_t seed,
                                            const std::string& op) {
  std::optional<ValidationResult> found;
  const std::string prefix = storage::seed_prefix(kind.letter, seed);
  GPUEMU_TRY(walk(kind, prefix, [&](storage::StoredResult record) {
    if (op.empty() || record.result.op_name == op) found = std::move(record.result);
    return !found.has_value();
  }));
  if (found) return *std::move(found);
  return error(ErrorCode::NotFound, "no {} with seed {}{}; `gpuemu failures` lists the failures",
               kind.name, seed, op.empty() ? "" : " of op '" + op + "'");
}

/// A failed result has its snapshot in the failure, where it is stored once.
Result<ValidationResult> RocksStore::result(uint64_t seed, const std::string& op) {
  auto found = GPUEMU_TRY(newest({'r', Family::Results, "result"}, seed, op));
  if (found.passed || !found.repro_info || found.repro_info->input_snapshot) return found;
  const auto failed = failure(seed, found.op_name);
  if (failed && failed->timestamp == found.timestamp && failed->failures == found.failures) {
    found.repro_info = failed->repro_info;
  }
  return found;
}

Result<std::vector<ValidationResult>> RocksStore::list(const Kind& kind, size_t limit,
                                                       const std::string& op,
                                                       size_t snapshot_bytes_max) {
  std::vector<ValidationResult> listed;
  if (limit == 0) return listed;
  SnapshotBudget budget(snapshot_bytes_max);
  const std::string prefix = std::string(1, kind.letter) + "t:";
  GPUEMU_TRY(walk(kind, prefix, [&](storage::StoredResult record) {
    if (!op.empty() && record.result.op_name != op) return true;
    budget.apply(record.result);
    if (kind.family == Family::Failures) record.result.passes_now = is_mended(record);
    listed.push_back(std::move(record.result));
    return listed.size() < limit;
  }));
  return listed;
}

/// A result that cannot be read does not count as passing.
bool RocksStore::is_mended(const storage::StoredResult& failure) {
  const std::string key = storage::result_key(failure.result.op_name, failure.result.seed);
  const auto value = database_->get(Family::Results, key);
  if (!value || !*value) return false;
  const auto newest = storage::decode_result(**value);
  return newest && passes_now({failure.result, true, failure.inputs},
                              {newest->result, false, newest->inputs});
}

Status RocksStore::erase_failure(rocksdb::WriteBatch& batch, std::string_view key,
                                 const storage::FailureKey& parts) {
  database_->erase(batch, Family::Failures, key);
  database_->erase(batch, Family::Index, storage::time_key('f', parts.stamp));
  database_->erase(batch, Family::Index, storage::seed_key('f', parts.seed, parts.stamp));
  const std::string result = storage::result_key(parts.op, parts.seed);
  const auto value = GPUEMU_TRY(database_->get(Family::Results, result));
  if (!value) return ok_status();
  const auto record = storage::decode_result(*value);
  if (record && record->result.passed) return ok_status();
  database_->erase(batch, Family::Results, result);
  if (!record) return ok_status();  // A damaged record has no valid index entries.
  database_->erase(batch, Family::Index, storage::time_key('r', record->stamp));
  database_->erase(batch, Family::Index, storage::seed_key('r', parts.seed, record->stamp));
  return ok_status();
}

Result<uint64_t> RocksStore::delete_failures(std::optional<uint64_t> seed, const std::string& op) {
  uint64_t deleted = 0;
  rocksdb::WriteBatch batch;
  const auto visit = [&](std::string_view key, std::string_view) -> Result<bool> {
    const auto parts = storage::parse_failure_key(key);
    if (!parts || (seed && parts->seed != *seed) || (!op.empty() && parts->op != op)) return true;
    GPUEMU_TRY(erase_failure(batch, key, *parts));
    ++deleted;
    if (batch.GetDataSize() < kDeletedBatchBytes) return true;
    GPUEMU_TRY(database_->write(batch));
    batch.Clear();
    return true;
  };
  GPUEMU_TRY(database_->scan(Family::Failures, "", visit));
  GPUEMU_TRY(database_->write(batch));
  if (deleted > 0) GPUEMU_TRY(database_->give_back({Family::Failures, Family::Results}));
  return deleted;
}

Result<uint64_t> RocksStore::count(Family family) {
  uint64_t records = 0;
  GPUEMU_TRY(database_->scan(family, "", [&](std::string_view, std::string_view) -> Result<bool> {
    ++records;
    return true;
  }));
  return records;
}

Status RocksStore::require_tag(Family family, const std::string& tag) {
  const auto head = GPUEMU_TRY(database_->get(family, storage::owner_prefix(tag)));
  if (head) return ok_status();
  return error(ErrorCode::NotFound,
               "no baseline '{}'; `gpuemu baseline save {}` makes one of the results there are",
               tag, tag);
}

Status RocksStore::put_baseline(const std::string& tag,
                                const std::vector<ValidationResult>& results) {
  const std::string prefix = storage::owner_prefix(tag);
  rocksdb::WriteBatch batch;
  database_->erase_all(batch, Family::Baselines, prefix);
  database_->put(batch, Family::Baselines, prefix, tag);
  for (const ValidationResult& result : results) {
    database_->put(batch, Family::Baselines,
                   prefix + storage::result_key(result.op_name, result.seed),
                   storage::encode_result(result, 0, 0));
  }
  return database_->write(batch);
}

Result<std::vector<ValidationResult>> RocksStore::baseline(const std::string& tag) {
  GPUEMU_TRY(require_tag(Family::Baselines, tag));
  const std::string prefix = storage::owner_prefix(tag);
  std::vector<ValidationResult> results;
  const Status scanned = database_->scan(
      Family::Baselines, prefix, [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (key.size() == prefix.size()) return true;  // The tag itself.
        auto record = GPUEMU_TRY(storage::decode_result(value));
        results.push_back(std::move(record.result));
        return true;
      });
  if (!scanned) return scanned.error();
  std::ranges::sort(results, {}, [](const ValidationResult& result) {
    return std::pair(std::string_view(result.op_name), result.seed);
  });
  return results;
}

Result<std::vector<std::string>> RocksStore::list_tags(Family family) {
  std::vector<std::string> tags;
  GPUEMU_TRY(database_->scan(family, "",
                             [&](std::string_view key, std::string_view value) -> Result<bool> {
                               if (key == storage::owner_prefix(value)) tags.emplace_back(value);
                               return true;
                             }));
  std::ranges::sort(tags);
  return tags;
}

Status RocksStore::delete_tag(Family family, const std::string& tag) {
  GPUEMU_TRY(require_tag(family, tag));
  rocksdb::WriteBatch batch;
  database_->erase_all(batch, family, storage::owner_prefix(tag));
  return database_->write(batch);
}

Status RocksStore::put_artifact_baseline(const std::string& tag,
                                         const std::vector<ArtifactMetrics>& metrics) {
  const std::string prefix = storage::owner_prefix(tag);
  rocksdb::WriteBatch batch;
  database_->erase_all(batch, Family::ArtifactBaselines, prefix);
  database_->put(batch, Family::ArtifactBaselines, prefix, tag);
  for (const ArtifactMetrics& entry : metrics) {
    // The colon distinguishes a kernel without a name from the tag's own entry.
    database_->put(batch, Family::ArtifactBaselines, prefix + ":" + entry.kernel_name,
                   storage::encode_artifact(entry));
  }
  return database_->write(batch);
}

Result<std::vector<ArtifactMetrics>> RocksStore::artifact_baseline(const std::string& tag) {
  GPUEMU_TRY(require_tag(Family::ArtifactBaselines, tag));
  std::vector<ArtifactMetrics> artifacts;
  const Status scanned =
      database_->scan(Family::ArtifactBaselines, storage::owner_prefix(tag) + ":",
                      [&](std::string_view, std::string_view value) -> Result<bool> {
                        artifacts.push_back(GPUEMU_TRY(storage::decode_artifact(value)));
                        return true;
                      });
  if (!scanned) return scanned.error();
  return artifacts;
}

Status RocksStore::put_corpus(const std::string& op, std::span<const std::byte> entry) {
  rocksdb::WriteBatch batch;
  const std::string key = fmt::format("{}{:020}", storage::owner_prefix(op), next_stamp());
  database_->put(batch, Family::Corpus, key,
                 {reinterpret_cast<const char*>(entry.data()), entry.size()});
  return database_->write(batch);
}

Result<std::vector<std::vector<std::byte>>> RocksStore::list_corpus(const std::string& op) {
  std::vector<std::vector<std::byte>> entries;
  GPUEMU_TRY(database_->scan(Family::Corpus, storage::owner_prefix(op),
                             [&](std::string_view, std::string_view value) -> Result<bool> {
                               const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
                               entries.emplace_back(bytes, bytes + value.size());
                               return true;
                             }));
  return entries;
}

Status RocksStore::replace_corpus(const std::string& op,
                                  const std::vector<std::vector<std::byte>>& entries) {
  rocksdb::WriteBatch batch;
  database_->erase_all(batch, Family::Corpus, storage::owner_prefix(op));
  for (const std::vector<std::byte>& entry : entries) {
    const std::string key = fmt::format("{}{:020}", storage::owner_prefix(op), next_stamp());
    database_->put(batch, Family::Corpus, key,
                   {reinterpret_cast<const char*>(entry.data()), entry.size()});
  }
  return database_->write(batch);
}

Status RocksStore::put_meta(const std::string& name, const std::string& value) {
  rocksdb::WriteBatch batch;
  database_->put(batch, Family::Meta, std::string(storage::kUserPrefix) + name, value);
  return database_->write(batch);
}

}  // namespace

Result<std::shared_ptr<Store>> storage::make_rocks_store(std::shared_ptr<Database> database,
                                                         std::shared_ptr<Stamps> stamps,
                                                         const std::string& project) {
  auto store = std::make_shared<RocksStore>(
      std::make_unique<ProjectKeys>(std::move(database), project), std::move(stamps));
  GPUEMU_TRY(store->start());
  return std::shared_ptr<Store>(std::move(store));
}

}  // namespace gpuemu
