// Selects records first, then deletes each together with its index entries, unless it was replaced
// meanwhile.
#include "daemon/storage/prune_records.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "common/base/clock.h"
#include "common/codec/json_codec.h"
#include "daemon/records/keys.h"
#include "daemon/records/values.h"
#include "daemon/storage/store.h"
#include "daemon/storage/stored_counts.h"

namespace gpuemu {

Pruning pruning_of(const Retention& retention) {
  constexpr uint64_t kDay = 24 * 3600;
  const auto limit = [](uint64_t value) {
    return value == 0 ? std::nullopt : std::optional(value);
  };
  Pruning pruning;
  const auto rule = [&](uint64_t days, uint64_t count) {
    return PruneRule{
        .all = false, .older_s = limit(days * kDay), .keep = limit(count), .beyond_either = true};
  };
  pruning.passing = rule(retention.passing_days, retention.passing_count);
  pruning.failures = rule(retention.failure_days, retention.failure_count);
  pruning.artifacts = rule(0, retention.artifact_count);
  pruning.runs = rule(0, retention.run_count);
  pruning.bytes = limit(retention.bytes);
  pruning.shrink_passing = pruning.shrink_failures = true;
  return pruning;
}

namespace storage {
namespace {

constexpr size_t kBatchRecords = 512;
constexpr uint64_t kMicroseconds = 1'000'000;
constexpr std::string_view kHistoryMeta = "storage:pruned";

std::string meta_key(const std::string& project, std::string_view name) {
  return fmt::format("{}{}{}", project_prefix(project), kUserPrefix, name);
}

uint64_t digest_of(std::string_view value) { return std::hash<std::string_view>()(value); }

/// A record that may be deleted.
struct Candidate {
  Family family;
  std::string key;     ///< Without the project's prefix.
  uint64_t stamp = 0;  ///< Microseconds since 1970.
  uint64_t digest = 0;
  uint64_t bytes = 0;  ///< Key, value and index entries.
  bool chosen = false;
};

/// A condition that a record must still satisfy when it is deleted.
struct Guard {
  Family family;
  std::string key;
  uint64_t digest = 0;
};

class Pruner {
 public:
  Pruner(Database& database, const Pruning& pruning)
      : database_(database),
        pruning_(pruning),
        prefix_(project_prefix(pruning.project)),
        now_(static_cast<uint64_t>(now_seconds()) * kMicroseconds) {}

  Result<PrunedTotals> run() {
    GPUEMU_TRY(collect());
    choose(passing_, pruning_.passing);
    choose(failures_, pruning_.failures);
    choose_artifacts();
    if (pruning_.bytes) GPUEMU_TRY(shrink());
    totals_.removed.passing = GPUEMU_TRY(remove(passing_));
    totals_.removed.failures = GPUEMU_TRY(remove(failures_));
    totals_.removed.artifacts = GPUEMU_TRY(remove(artifacts_));
    GPUEMU_TRY(remove_runs());
    if (pruning_.dry_run) return totals_;
    if (removed_anything() || !pruning_.automatic) GPUEMU_TRY(note());
    if (removed_anything()) {
      GPUEMU_TRY(database_.give_back(
          {Family::Results, Family::Failures, Family::Artifacts, Family::Meta, Family::Index}));
    }
    return totals_;
  }

 private:
  bool removed_anything() const { return totals_.removed != PrunedRecords() || totals_.bytes > 0; }

  template <typename Visit>
  Status each(Family family, const Visit& visit) {
    return database_.scan(family, prefix_,
                          [&](std::string_view key, std::string_view value) -> Result<bool> {
                            const Status visited = visit(key.substr(prefix_.size()), value);
                            if (!visited) return visited.error();
                            return true;
                          });
  }

  bool is_meant(std::optional<std::string_view> name) const {
    return pruning_.op.empty() || name == pruning_.op;
  }

  Candidate candidate(Family family, std::string_view key, std::string_view value,
                      uint64_t stamp) const {
    const uint64_t bytes = prefix_.size() + key.size() + value.size();
    return {family, std::string(key), stamp, digest_of(value), bytes, false};
  }

  /// Finds all candidates, newest first. Damaged records stay, for verify and repair.
  Status collect() {
    GPUEMU_TRY(each(Family::Results, [this](std::string_view key, std::string_view value) {
      const auto stamp = stamp_of(value);
      const auto passed = passed_of(value);
      if (!stamp || !passed || !*passed || !is_meant(op_of_result_key(key))) return ok_status();
      passing_.push_back(candidate(Family::Results, key, value, *stamp));
      return ok_status();
    }));
    GPUEMU_TRY(each(Family::Failures, [this](std::string_view key, std::string_view value) {
      const auto parts = parse_failure_key(key);
      if (!parts || !is_meant(parts->op)) return ok_status();
      failures_.push_back(candidate(Family::Failures, key, value, parts->stamp));
      return ok_status();
    }));
    GPUEMU_TRY(each(Family::Artifacts, [this](std::string_view key, std::string_view value) {
      const auto metrics = decode_artifact(value);
      const auto parts = parse_artifact_key(key);
      if (!metrics || !parts || !is_meant(parts->kernel)) return ok_status();
      const auto seen = static_cast<uint64_t>(std::max<int64_t>(metrics->last_seen, 0));
      const uint64_t stamp = std::max(parts->stamp, seen * kMicroseconds);
      artifacts_.push_back(candidate(Family::Artifacts, key, value, stamp));
      return ok_status();
    }));
    for (std::vector<Candidate>* kind : {&passing_, &failures_, &artifacts_}) {
      std::ranges::stable_sort(*kind, std::ranges::greater(), &Candidate::stamp);
    }
    return ok_status();
  }

  /// Returns whether the record, with `newer` newer ones of its kind, is to be deleted.
  bool goes(const PruneRule& rule, uint64_t stamp, uint64_t newer) const {
    if (!rule.is_set() || stamp >= pruning_.in_use_from) return false;
    if (rule.all) return true;
    const bool old = rule.older_s && stamp + *rule.older_s * kMicroseconds < now_;
    const bool beyond = rule.keep && newer >= *rule.keep;
    if (rule.beyond_either) return old || beyond;
    return (old || !rule.older_s) && (beyond || !rule.keep);
  }

  void choose(std::vector<Candidate>& kind, const PruneRule& rule) const {
    for (size_t i = 0; i < kind.size(); ++i) kind[i].chosen = goes(rule, kind[i].stamp, i);
  }

  /// The number to keep is per kernel.
  void choose_artifacts() {
    std::map<std::string, uint64_t, std::less<>> newer;
    for (Candidate& one : artifacts_) {
      const auto parts = parse_artifact_key(one.key);
      one.chosen =
          parts && goes(pruning_.artifacts, one.stamp, newer[std::string(parts->kernel)]++);
    }
  }

  /// Selects the oldest passing results, then input snapshots, then failures, until the rest fits.
  Status shrink() {
    const uint64_t stored = GPUEMU_TRY(bytes_of_records(database_, pruning_.project));
    excess_ = stored > *pruning_.bytes ? stored - *pruning_.bytes : 0;
    for (const std::vector<Candidate>* kind : {&passing_, &failures_, &artifacts_}) {
      for (const Candidate& one : *kind) {
        if (one.chosen) reduce(one.bytes);
      }
    }
    if (pruning_.shrink_passing) choose_oldest(passing_);
    if (!pruning_.shrink_failures) return ok_status();
    for (auto one = failures_.rbegin(); one != failures_.rend() && excess_ > 0; ++one) {
      if (!one->chosen && one->stamp < pruning_.in_use_from) GPUEMU_TRY(drop_snapshot(*one));
    }
    choose_oldest(failures_);
    return ok_status();
  }

  void reduce(uint64_t bytes) { excess_ -= std::min(excess_, bytes); }

  void choose_oldest(std::vector<Candidate>& kind) {
    for (auto one = kind.rbegin(); one != kind.rend() && excess_ > 0; ++one) {
      if (one->chosen || one->stamp >= pruning_.in_use_from) continue;
      one->chosen = true;
      reduce(one->bytes);
    }
  }

  Status drop_snapshot(Candidate& failure) {
    const auto value = GPUEMU_TRY(database_.get(failure.family, prefix_ + failure.key));
    auto record = value ? decode_result(*value) : Result<StoredResult>(StoredResult());
    if (!record || !record->result.repro_info || !record->result.repro_info->input_snapshot) {
      return ok_status();
    }
    record->result.repro_info->input_snapshot.reset();
    const std::string smaller = encode_result(record->result, record->stamp, record->inputs);
    const uint64_t freed = value->size() - std::min(value->size(), smaller.size());
    if (!pruning_.dry_run) {
      rocksdb::WriteBatch batch;
      database_.put(batch, failure.family, prefix_ + failure.key, smaller);
      const std::vector<Guard> guards = {{failure.family, failure.key, failure.digest}};
      if (!GPUEMU_TRY(database_.write_if(batch, [&] { return hold(guards); }))) return ok_status();
      failure.digest = digest_of(smaller);
    }
    failure.bytes -= freed;
    totals_.bytes += freed;
    reduce(freed);
    return ok_status();
  }

  /// Returns whether each record is unchanged.
  Result<bool> hold(const std::vector<Guard>& guards) {
    for (const Guard& one : guards) {
      const auto value = GPUEMU_TRY(database_.get(one.family, prefix_ + one.key));
      if (!value || digest_of(*value) != one.digest) return false;
    }
    return true;
  }

  /// Adds the deletion of a record and what belongs to it; returns its bytes.
  Result<uint64_t> erase(rocksdb::WriteBatch& batch, const Candidate& one,
                         std::vector<Guard>& guards) {
    guards.push_back({one.family, one.key, one.digest});
    uint64_t bytes = one.bytes;
    const auto entry = [&](Family family, const std::string& key, uint64_t value) {
      database_.erase(batch, family, prefix_ + key);
      bytes += prefix_.size() + key.size() + value;
    };
    database_.erase(batch, one.family, prefix_ + one.key);
    if (one.family == Family::Results) {
      const uint64_t seed = seed_of_result_key(one.key).value_or(0);
      entry(Family::Index, time_key('r', one.stamp), one.key.size());
      entry(Family::Index, seed_key('r', seed, one.stamp), one.key.size());
    }
    const auto parts = parse_failure_key(one.key);
    if (one.family != Family::Failures || !parts) return bytes;
    entry(Family::Index, time_key('f', one.stamp), one.key.size());
    entry(Family::Index, seed_key('f', parts->seed, one.stamp), one.key.size());
    // The result stored with it says that it fails, and has its inputs there.
    const std::string result = result_key(parts->op, parts->seed);
    const auto value = GPUEMU_TRY(database_.get(Family::Results, prefix_ + result));
    const auto stamp = value ? stamp_of(*value) : Result<uint64_t>(uint64_t{0});
    if (!value || !stamp || *stamp != one.stamp) return bytes;
    guards.push_back({Family::Results, result, digest_of(*value)});
    entry(Family::Results, result, value->size());
    entry(Family::Index, time_key('r', one.stamp), result.size());
    entry(Family::Index, seed_key('r', parts->seed, one.stamp), result.size());
    return bytes;
  }

  /// Deletes the selected records; returns how many were deleted.
  Result<uint64_t> remove(const std::vector<Candidate>& kind) {
    uint64_t removed = 0;
    std::vector<const Candidate*> together;
    for (const Candidate& one : kind) {
      if (one.chosen) together.push_back(&one);
      if (together.size() < kBatchRecords) continue;
      removed += GPUEMU_TRY(remove_together(together));
      together.clear();
    }
    removed += GPUEMU_TRY(remove_together(together));
    return removed;
  }

  /// Deletes in one step or, if one was replaced meanwhile, record by record without that one.
  Result<uint64_t> remove_together(const std::vector<const Candidate*>& records) {
    if (records.empty()) return uint64_t{0};
    rocksdb::WriteBatch batch;
    uint64_t bytes = 0;
    std::vector<Guard> guards;
    for (const Candidate* one : records) bytes += GPUEMU_TRY(erase(batch, *one, guards));
    const auto unchanged = [&] { return hold(guards); };
    if (pruning_.dry_run || GPUEMU_TRY(database_.write_if(batch, unchanged))) {
      totals_.bytes += bytes;
      return uint64_t{records.size()};
    }
    if (records.size() == 1) return uint64_t{0};
    uint64_t removed = 0;
    for (const Candidate* one : records) removed += GPUEMU_TRY(remove_together({one}));
    return removed;
  }

  /// Runs are the times of the points in trends. A running job may be about to add its own.
  Status remove_runs() {
    if (!pruning_.runs.is_set() || pruning_.has_jobs || !pruning_.op.empty()) return ok_status();
    const auto text =
        GPUEMU_TRY(database_.get(Family::Meta, meta_key(pruning_.project, kTrendsMeta)));
    const auto reply = text ? decode_reply(*text) : Result<Reply>(OkReply{});
    const auto* kept = reply ? std::get_if<CiRunCompleteReply>(&*reply) : nullptr;
    if (kept == nullptr) return ok_status();
    std::set<int64_t, std::greater<>> times;
    for (const KernelTrend& trend : kept->summary.trends) {
      for (const TrendPoint& point : trend.points) times.insert(point.timestamp);
    }
    std::set<int64_t> gone;
    uint64_t newer = 0;
    for (const int64_t time : times) {
      const auto seconds = static_cast<uint64_t>(std::max<int64_t>(time, 0));
      if (goes(pruning_.runs, seconds * kMicroseconds, newer++)) gone.insert(time);
    }
    totals_.removed.runs = gone.size();
    if (gone.empty()) return ok_status();
    CiRunCompleteReply left = *kept;
    for (KernelTrend& trend : left.summary.trends) {
      std::erase_if(trend.points,
                    [&](const TrendPoint& one) { return gone.contains(one.timestamp); });
    }
    std::erase_if(left.summary.trends, [](const KernelTrend& one) { return one.points.empty(); });
    const std::string smaller = encode_reply(left);
    totals_.bytes += text->size() - std::min(text->size(), smaller.size());
    if (pruning_.dry_run) return ok_status();
    rocksdb::WriteBatch batch;
    database_.put(batch, Family::Meta, meta_key(pruning_.project, kTrendsMeta), smaller);
    return database_.write(batch);
  }

  Status note() {
    PruneHistory history = GPUEMU_TRY(read_prune_history(database_, pruning_.project));
    const PrunedRecords& now = totals_.removed;
    rocksdb::WriteBatch batch;
    database_.put(batch, Family::Meta, meta_key(pruning_.project, kHistoryMeta),
                  fmt::format("{} {} {} {} {}", history.removed.passing + now.passing,
                              history.removed.failures + now.failures,
                              history.removed.artifacts + now.artifacts,
                              history.removed.runs + now.runs, now_seconds()));
    return database_.write(batch);
  }

  Database& database_;
  const Pruning& pruning_;
  const std::string prefix_;
  const uint64_t now_;
  std::vector<Candidate> passing_, failures_, artifacts_;
  uint64_t excess_ = 0;
  PrunedTotals totals_;
};

}  // namespace

Result<PrunedTotals> prune_records(Database& database, const Pruning& pruning) {
  return Pruner(database, pruning).run();
}

Result<PruneHistory> read_prune_history(Database& database, const std::string& project) {
  const auto text = GPUEMU_TRY(database.get(Family::Meta, meta_key(project, kHistoryMeta)));
  PruneHistory history;
  if (!text) return history;
  uint64_t numbers[5] = {};
  const char* at = text->data();
  const char* const end = at + text->size();
  for (uint64_t& number : numbers) {
    const auto [stop, failed] = std::from_chars(at, end, number);
    if (failed != std::errc()) return PruneHistory();  // Written by another version.
    at = stop == end ? end : stop + 1;
  }
  history.removed = {numbers[0], numbers[1], numbers[2], numbers[3]};
  history.last = static_cast<int64_t>(numbers[4]);
  return history;
}

uint64_t count_runs(const std::string& trends) {
  const auto reply = decode_reply(trends);
  const auto* kept = reply ? std::get_if<CiRunCompleteReply>(&*reply) : nullptr;
  std::set<int64_t> times;
  if (kept == nullptr) return 0;
  for (const KernelTrend& trend : kept->summary.trends) {
    for (const TrendPoint& point : trend.points) times.insert(point.timestamp);
  }
  return times.size();
}

}  // namespace storage
}  // namespace gpuemu
