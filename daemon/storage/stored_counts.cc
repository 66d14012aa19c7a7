#include "daemon/storage/stored_counts.h"

#include <algorithm>
#include <set>

#include "daemon/records/keys.h"
#include "daemon/records/values.h"
#include "daemon/storage/prune_records.h"

namespace gpuemu::storage {
namespace {

uint64_t record_bytes(std::string_view key, std::string_view value) {
  return key.size() + value.size();
}

class Counter {
 public:
  Counter(Database& database, const StoredProject& project)
      : database_(database), prefix_(project_prefix(project.id)) {
    counts_.id = project_of_space(project.id);
    counts_.user = user_of_space(project.id);
    counts_.name = project.name;
    counts_.path = project.path;
  }

  Status run() {
    GPUEMU_TRY(each(Family::Results, [this](std::string_view, std::string_view value) {
      const auto passed = passed_of(value);
      damaged_ = damaged_ || !passed;
      if (passed && *passed) ++counts_.passing;
    }));
    GPUEMU_TRY(each(Family::Failures, [this](auto, auto) { ++counts_.failures; }));
    for (const Family family : {Family::Baselines, Family::ArtifactBaselines}) {
      GPUEMU_TRY(each(family, [this](std::string_view key, std::string_view) {
        if (const auto tag = owner_of(key)) tags_.emplace(*tag);
      }));
    }
    counts_.baselines = tags_.size();
    GPUEMU_TRY(each(Family::Artifacts, [this](std::string_view key, std::string_view) {
      const auto parts = parse_artifact_key(key);
      const bool is_first = kernels_.emplace(parts ? parts->kernel : key).second;
      ++(is_first ? counts_.artifacts : counts_.artifact_history);
    }));
    GPUEMU_TRY(each(Family::Corpus, [this](auto, auto) { ++counts_.corpus; }));
    GPUEMU_TRY(each(Family::Meta, [this](std::string_view key, std::string_view value) {
      const bool own = key.starts_with(kUserPrefix);
      if (own && key.substr(kUserPrefix.size()) == kTrendsMeta) {
        counts_.runs = count_runs(std::string(value));
      }
    }));
    return each(Family::Index, [](auto, auto) {});
  }
  const StoredOfProject& counts() const { return counts_; }
  bool is_damaged() const { return damaged_; }

 private:
  /// An unreadable table ends the count of its family.
  template <typename Visit>
  Status each(Family family, const Visit& visit) {
    const Status read = database_.scan(
        family, prefix_, [&](std::string_view key, std::string_view value) -> Result<bool> {
          const uint64_t bytes = record_bytes(key, value);
          counts_.bytes += bytes;
          counts_.bytes_by_kind[kFamilyNames[static_cast<size_t>(family)]] += bytes;
          visit(key.substr(prefix_.size()), value);
          return true;
        });
    if (read || read.error().code != ErrorCode::Corruption) return read;
    damaged_ = true;
    return ok_status();
  }

  Database& database_;
  const std::string prefix_;
  std::set<std::string> tags_, kernels_;
  StoredOfProject counts_;
  bool damaged_ = false;
};

}  // namespace

uint64_t bytes_of_files(const std::filesystem::path& folder) {
  uint64_t bytes = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    const uint64_t size = at->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

Result<uint64_t> bytes_of_records(Database& database, const std::string& project) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < kFamilyCount; ++i) {
    GPUEMU_TRY(database.scan(static_cast<Family>(i), project_prefix(project),
                             [&](std::string_view key, std::string_view value) -> Result<bool> {
                               bytes += record_bytes(key, value);
                               return true;
                             }));
  }
  return bytes;
}

Result<StorageStatusReply> stored_counts(Database& database,
                                         const std::vector<StoredProject>& listed) {
  StorageStatusReply reply;
  reply.path = database.folder().native();
  reply.schema_version = kSchemaVersion;
  PrunedRecords pruned;
  for (const StoredProject& project : listed) {
    Counter counter(database, project);
    GPUEMU_TRY(counter.run());
    reply.damaged = reply.damaged || counter.is_damaged();
    reply.projects.push_back(counter.counts());
    const PruneHistory history = GPUEMU_TRY(read_prune_history(database, project.id));
    pruned.passing += history.removed.passing;
    pruned.failures += history.removed.failures;
    pruned.artifacts += history.removed.artifacts;
    pruned.runs += history.removed.runs;
    reply.last_prune = std::max(reply.last_prune, history.last);
  }
  reply.pruned = {{"passing", pruned.passing},
                  {"failures", pruned.failures},
                  {"artifacts", pruned.artifacts},
                  {"runs", pruned.runs}};
  reply.damaged = reply.damaged || !database.damage().empty();
  reply.bytes_on_disk = bytes_of_files(database.folder());
  return reply;
}

}  // namespace gpuemu::storage
