// Moves records in batches of bounded size, each together with its index entries.
#include "daemon/storage/take_records.h"

#include <map>

#include "daemon/records/keys.h"
#include "daemon/records/values.h"

namespace gpuemu::storage {
namespace {

constexpr size_t kTakenBatchBytes = size_t{1} << 20;

class Taker {
 public:
  Taker(Database& database, const Taking& taking)
      : database_(database),
        taking_(taking),
        from_(project_prefix(taking.from)),
        to_(project_prefix(taking.to)) {}

  Result<Taken> run() {
    GPUEMU_TRY(each(Family::Results, [this](const std::string& key, std::string_view value) {
      return take_result(key, value);
    }));
    GPUEMU_TRY(each(Family::Failures, [this](const std::string& key, std::string_view value) {
      return take_failure(key, value);
    }));
    GPUEMU_TRY(find_tags());
    for (const Family family : {Family::Baselines, Family::ArtifactBaselines}) {
      GPUEMU_TRY(each(family, [this, family](const std::string& key, std::string_view value) {
        const auto tag = owner_of(key);
        if (!tag || !tags_.contains(std::string(*tag))) return ok_status();
        move(family, key, value);
        return ok_status();
      }));
    }
    taken_.baselines = tags_.size();
    GPUEMU_TRY(each(Family::Artifacts, [this](const std::string& key, std::string_view value) {
      return take_artifact(key, value);
    }));
    GPUEMU_TRY(each(Family::Corpus, [this](const std::string& key, std::string_view value) {
      const auto op = owner_of(key);
      if (!wants(taking_.ops, op)) return ok_status();
      ++taken_.corpus;
      move(Family::Corpus, key, value);
      return ok_status();
    }));
    if (taking_.all) {
      GPUEMU_TRY(each(Family::Meta, [this](const std::string& key, std::string_view value) {
        return take_if_free(Family::Meta, key, value);
      }));
    }
    GPUEMU_TRY(write());
    return taken_;
  }

 private:
  bool wants(const std::set<std::string>& names, std::optional<std::string_view> name) const {
    return taking_.all || (name && names.contains(std::string(*name)));
  }

  void move(Family family, const std::string& key, std::string_view value) {
    database_.put(batch_, family, to_ + key, value);
    database_.erase(batch_, family, from_ + key);
  }
  /// Moves the index entries of the record with the key `record`.
  void move_index(char kind, uint64_t seed, uint64_t stamp, const std::string& record) {
    move(Family::Index, time_key(kind, stamp), record);
    move(Family::Index, seed_key(kind, seed, stamp), record);
  }
  void erase_result(const std::string& prefix, const std::string& key, const StoredResult& record) {
    database_.erase(batch_, Family::Results, prefix + key);
    database_.erase(batch_, Family::Index, prefix + time_key('r', record.stamp));
    database_.erase(batch_, Family::Index,
                    prefix + seed_key('r', record.result.seed, record.stamp));
  }

  Status take_result(const std::string& key, std::string_view value) {
    const auto op = op_of_result_key(key);
    if (!wants(taking_.ops, op)) return ok_status();
    ++taken_.results;
    if (op) taken_.ops.emplace(*op);
    const StoredResult record = GPUEMU_TRY(decode_result(value));
    const auto there = GPUEMU_TRY(database_.get(Family::Results, to_ + key));
    if (there) {
      const StoredResult other = GPUEMU_TRY(decode_result(*there));
      if (other.stamp >= record.stamp) {
        erase_result(from_, key, record);
        return ok_status();
      }
      erase_result(to_, key, other);
    }
    move(Family::Results, key, value);
    move_index('r', record.result.seed, record.stamp, key);
    return ok_status();
  }

  Status take_failure(const std::string& key, std::string_view value) {
    const auto parts = parse_failure_key(key);
    if (!wants(taking_.ops, parts ? std::optional(parts->op) : std::nullopt)) return ok_status();
    ++taken_.failures;
    if (parts) taken_.ops.emplace(parts->op);
    move(Family::Failures, key, value);
    if (parts) move_index('f', parts->seed, parts->stamp, key);
    return ok_status();
  }

  /// A kernel's metrics move together with their history, or not at all.
  Status take_artifact(const std::string& key, std::string_view value) {
    const auto parts = parse_artifact_key(key);
    if (!parts || !wants(taking_.kernels, parts->kernel)) return ok_status();
    const std::string kernel(parts->kernel);
    auto known = moves_kernel_.find(kernel);
    if (known == moves_kernel_.end()) {
      known = moves_kernel_.emplace(kernel, !GPUEMU_TRY(has_kernel(kernel))).first;
      if (known->second) ++taken_.artifacts;
    }
    if (known->second) move(Family::Artifacts, key, value);
    return ok_status();
  }

  /// Returns whether the receiving project has metrics of the kernel.
  Result<bool> has_kernel(const std::string& kernel) {
    bool found = false;
    GPUEMU_TRY(database_.scan(Family::Artifacts, to_ + kernel + ":",
                              [&](std::string_view key, std::string_view) -> Result<bool> {
                                const auto parts = parse_artifact_key(key.substr(to_.size()));
                                found = parts && parts->kernel == kernel;
                                return !found;
                              }));
    return found;
  }

  Status take_if_free(Family family, const std::string& key, std::string_view value) {
    const auto there = GPUEMU_TRY(database_.get(family, to_ + key));
    if (!there) move(family, key, value);
    return ok_status();
  }

  /// Collects the tags to move: a baseline with a wanted op or kernel moves whole, unless its tag
  /// exists there.
  Status find_tags() {
    const auto look = [this](const std::string& key, std::string_view) -> Status {
      const auto tag = owner_of(key);
      if (!tag) return ok_status();
      std::string_view name = std::string_view(key).substr(owner_prefix(*tag).size());
      const bool is_kernel = name.starts_with(':');
      if (is_kernel) name.remove_prefix(1);
      const bool wanted =
          is_kernel ? wants(taking_.kernels, name) : wants(taking_.ops, op_of_result_key(name));
      if (wanted) tags_.emplace(*tag);
      return ok_status();
    };
    GPUEMU_TRY(each(Family::Baselines, look));
    GPUEMU_TRY(each(Family::ArtifactBaselines, look));
    for (auto tag = tags_.begin(); tag != tags_.end();) {
      const std::string head = to_ + owner_prefix(*tag);
      const auto of_results = GPUEMU_TRY(database_.get(Family::Baselines, head));
      const auto of_artifacts = GPUEMU_TRY(database_.get(Family::ArtifactBaselines, head));
      tag = of_results || of_artifacts ? tags_.erase(tag) : std::next(tag);
    }
    return ok_status();
  }

  template <typename Visit>
  Status each(Family family, const Visit& visit) {
    return database_.scan(
        family, from_, [&](std::string_view key, std::string_view value) -> Result<bool> {
          const Status visited = visit(std::string(key.substr(from_.size())), value);
          if (!visited) return visited.error();
          if (batch_.GetDataSize() >= kTakenBatchBytes) {
            const Status written = write();
            if (!written) return written.error();
          }
          return true;
        });
  }

  Status write() {
    const Status written = taking_.dry_run ? ok_status() : database_.write(batch_);
    batch_.Clear();
    return written;
  }

  Database& database_;
  const Taking& taking_;
  const std::string from_, to_;
  std::set<std::string> tags_;
  std::map<std::string, bool> moves_kernel_;
  rocksdb::WriteBatch batch_;
  Taken taken_;
};

}  // namespace

Result<Taken> take_records(Database& database, const Taking& taking) {
  return Taker(database, taking).run();
}

}  // namespace gpuemu::storage
