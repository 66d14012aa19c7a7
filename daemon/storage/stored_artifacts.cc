#include "daemon/storage/stored_artifacts.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include "daemon/records/values.h"
#include "daemon/storage/store.h"

namespace gpuemu::storage {
namespace {

constexpr uint64_t kSecondMicros = 1'000'000;

uint64_t micros_of(int64_t seconds) {
  return static_cast<uint64_t>(std::max<int64_t>(seconds, 0)) * kSecondMicros;
}

/// Returns the time from which metrics with this timestamp are valid, within its second: now, if
/// they were just measured, because several may be in one second.
uint64_t start_of(int64_t timestamp) {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto now =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
  const uint64_t measured = micros_of(timestamp);
  const bool is_recent = measured <= now && now - measured < 2 * kSecondMicros;
  return is_recent ? std::min(now, measured + kSecondMicros - 1) : measured;
}

}  // namespace

/// Visits in the order of keys: per kernel, oldest first.
Status StoredArtifacts::each(const std::string& kernel, const Visit& visit) {
  const std::string prefix = kernel.empty() ? "" : kernel + ":";
  return keys_.scan(Family::Artifacts, prefix,
                    [&](std::string_view key, std::string_view value) -> Result<bool> {
                      const auto parts = parse_artifact_key(key);
                      if (!parts || (!kernel.empty() && parts->kernel != kernel)) return true;
                      visit(*parts, value);
                      return true;
                    });
}

Status StoredArtifacts::put(const ArtifactMetrics& metrics) {
  const std::lock_guard lock(mutex_);
  uint64_t newest_stamp = 0;
  std::string newest;
  GPUEMU_TRY(each(metrics.kernel_name, [&](const ArtifactKey& key, std::string_view value) {
    newest_stamp = key.stamp;
    newest = value;
  }));
  ArtifactMetrics kept = metrics;
  kept.last_seen = 0;
  uint64_t stamp = std::max(start_of(metrics.timestamp), newest_stamp + 1);
  if (!newest.empty()) {
    ArtifactMetrics before = GPUEMU_TRY(decode_artifact(newest));
    if (is_same_measurement(before, metrics)) {
      before.last_seen = std::max(before.last_seen, metrics.timestamp);
      kept = std::move(before);
      stamp = newest_stamp;
    }
  }
  rocksdb::WriteBatch batch;
  keys_.put(batch, Family::Artifacts, artifact_key(metrics.kernel_name, stamp),
            encode_artifact(kept));
  return keys_.write(batch);
}

Result<ArtifactMetrics> StoredArtifacts::at(const std::string& kernel,
                                            std::optional<uint64_t> time) {
  std::string found;
  bool has_newer = false;
  GPUEMU_TRY(each(kernel, [&](const ArtifactKey& key, std::string_view value) {
    has_newer = time && key.stamp > *time;
    if (!has_newer) found = value;
  }));
  if (!found.empty()) return decode_artifact(found);
  return error(ErrorCode::NotFound, "no metrics of kernel '{}'{}", kernel,
               has_newer ? " are as old as that" : "; `gpuemu lint` measures");
}

Result<std::vector<ArtifactMetrics>> StoredArtifacts::newest() {
  std::map<std::string, std::string> values;
  GPUEMU_TRY(each("", [&](const ArtifactKey& key, std::string_view value) {
    values[std::string(key.kernel)] = value;
  }));
  std::vector<ArtifactMetrics> artifacts;
  for (const auto& [kernel, value] : values) {
    artifacts.push_back(GPUEMU_TRY(decode_artifact(value)));
  }
  return artifacts;
}

Result<std::vector<ArtifactMetrics>> StoredArtifacts::all(const std::string& kernel) {
  std::vector<std::pair<uint64_t, std::string>> values;
  GPUEMU_TRY(each(kernel, [&](const ArtifactKey& key, std::string_view value) {
    values.emplace_back(key.stamp, value);
  }));
  std::ranges::stable_sort(values, std::ranges::greater(), &decltype(values)::value_type::first);
  std::vector<ArtifactMetrics> artifacts;
  for (const auto& [stamp, value] : values) {
    artifacts.push_back(GPUEMU_TRY(decode_artifact(value)));
  }
  return artifacts;
}

Status date_artifacts(Database& database) {
  rocksdb::WriteBatch batch;
  GPUEMU_TRY(database.scan(Family::Artifacts, "",
                           [&](std::string_view key, std::string_view value) -> Result<bool> {
                             if (parse_artifact_key(key)) return true;
                             const auto metrics = decode_artifact(value);
                             if (!metrics) return true;  // Damaged: left for verify and repair.
                             database.erase(batch, Family::Artifacts, key);
                             database.put(batch, Family::Artifacts,
                                          artifact_key(key, micros_of(metrics->timestamp)), value);
                             return true;
                           }));
  return batch.Count() == 0 ? ok_status() : database.write(batch);
}

}  // namespace gpuemu::storage
