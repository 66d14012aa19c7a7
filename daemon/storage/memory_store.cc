// The in-memory store: plain containers under one mutex. The database is tested against it.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "daemon/storage/snapshot_budget.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

class MemoryStore : public Store {
 public:
  Status put_results(std::span<const ResultToKeep> results) override {
    const std::lock_guard lock(mutex_);
    for (const ResultToKeep& one : results) {
      const Kept kept{one.result, one.inputs};
      std::erase_if(results_, [&](const Kept& other) { return is_of(other, one.result); });
      results_.push_back(kept);
      if (!one.is_failure) continue;
      std::erase_if(failures_,
                    [&](const Kept& other) { return is_same_case(other.result, one.result); });
      failures_.push_back(kept);
    }
    return ok_status();
  }
  Result<ValidationResult> result(uint64_t seed, const std::string& op) override {
    return newest(results_, seed, op, "result");
  }
  Result<ValidationResult> failure(uint64_t seed, const std::string& op) override {
    return newest(failures_, seed, op, "failure");
  }
  Result<std::vector<ValidationResult>> list_results(size_t limit, const std::string& op) override {
    return list(results_, limit, op, 0);
  }
  Result<std::vector<ValidationResult>> list_failures(size_t limit, const std::string& op,
                                                      size_t snapshot_bytes_max) override {
    return list(failures_, limit, op, snapshot_bytes_max);
  }
  Result<uint64_t> delete_failures(std::optional<uint64_t> seed, const std::string& op) override {
    const std::lock_guard lock(mutex_);
    const auto meant = [&](const Kept& one) {
      return (!seed || one.result.seed == *seed) && (op.empty() || one.result.op_name == op);
    };
    for (const Kept& failure : failures_) {
      if (!meant(failure)) continue;
      std::erase_if(results_, [&](const Kept& one) {
        return is_of(one, failure.result) && !one.result.passed;
      });
    }
    return std::erase_if(failures_, meant);
  }
  Result<uint64_t> count_results() override {
    const std::lock_guard lock(mutex_);
    return results_.size();
  }
  Result<uint64_t> count_failures() override {
    const std::lock_guard lock(mutex_);
    return failures_.size();
  }

  Status put_baseline(const std::string& tag,
                      const std::vector<ValidationResult>& results) override {
    const std::lock_guard lock(mutex_);
    auto& kept = baselines_[tag];
    kept.clear();
    for (const auto& result : results) kept[{result.op_name, result.seed}] = result;
    return ok_status();
  }
  Result<std::vector<ValidationResult>> baseline(const std::string& tag) override {
    const std::lock_guard lock(mutex_);
    const auto found = baselines_.find(tag);
    if (found == baselines_.end()) return no_baseline(tag);
    std::vector<ValidationResult> results;
    for (const auto& [key, result] : found->second) results.push_back(result);
    return results;
  }
  Result<std::vector<std::string>> list_baselines() override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> tags;
    for (const auto& [tag, results] : baselines_) tags.push_back(tag);
    return tags;
  }
  Status delete_baseline(const std::string& tag) override {
    const std::lock_guard lock(mutex_);
    if (baselines_.erase(tag) == 0) return no_baseline(tag);
    return ok_status();
  }

  Status put_artifact(const ArtifactMetrics& metrics) override {
    const std::lock_guard lock(mutex_);
    std::vector<ArtifactMetrics>& all = history_[metrics.kernel_name];
    if (!all.empty() && is_same_measurement(all.back(), metrics)) {
      all.back().last_seen = std::max(all.back().last_seen, metrics.timestamp);
    } else {
      all.push_back(metrics);
    }
    return ok_status();
  }
  Result<ArtifactMetrics> artifact_at(const std::string& kernel,
                                      std::optional<uint64_t> time) override {
    constexpr int64_t kMicroseconds = 1'000'000;
    const std::lock_guard lock(mutex_);
    const auto found = history_.find(kernel);
    if (found != history_.end()) {
      for (auto one = found->second.rbegin(); one != found->second.rend(); ++one) {
        if (!time || one->timestamp <= static_cast<int64_t>(*time) / kMicroseconds) return *one;
      }
    }
    return error(ErrorCode::NotFound, "no metrics of kernel '{}'; `gpuemu lint` measures", kernel);
  }
  Result<std::vector<ArtifactMetrics>> list_artifacts() override {
    const std::lock_guard lock(mutex_);
    std::vector<ArtifactMetrics> newest;
    for (const auto& [kernel, all] : history_) newest.push_back(all.back());
    return newest;
  }
  Result<std::vector<ArtifactMetrics>> artifact_history(const std::string& kernel) override {
    const std::lock_guard lock(mutex_);
    std::vector<ArtifactMetrics> history;
    for (const auto& [name, all] : history_) {
      if (kernel.empty() || name == kernel) history.insert(history.end(), all.begin(), all.end());
    }
    std::ranges::stable_sort(history, std::ranges::greater(), &ArtifactMetrics::timestamp);
    return history;
  }
  Status put_artifact_baseline(const std::string& tag,
                               const std::vector<ArtifactMetrics>& metrics) override {
    const std::lock_guard lock(mutex_);
    auto& kept = artifact_baselines_[tag];
    kept.clear();
    for (const auto& entry : metrics) kept[entry.kernel_name] = entry;
    return ok_status();
  }
  Result<std::vector<ArtifactMetrics>> artifact_baseline(const std::string& tag) override {
    const std::lock_guard lock(mutex_);
    const auto found = artifact_baselines_.find(tag);
    if (found == artifact_baselines_.end()) return no_baseline(tag);
    return values_of(found->second);
  }
  Result<std::vector<std::string>> list_artifact_baselines() override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> tags;
    for (const auto& [tag, artifacts] : artifact_baselines_) tags.push_back(tag);
    return tags;
  }
  Status delete_artifact_baseline(const std::string& tag) override {
    const std::lock_guard lock(mutex_);
    if (artifact_baselines_.erase(tag) == 0) return no_baseline(tag);
    return ok_status();
  }

  Status put_corpus(const std::string& op, std::span<const std::byte> entry) override {
    const std::lock_guard lock(mutex_);
    corpus_[op].emplace_back(entry.begin(), entry.end());
    return ok_status();
  }
  Result<std::vector<std::vector<std::byte>>> list_corpus(const std::string& op) override {
    const std::lock_guard lock(mutex_);
    return corpus_[op];
  }
  Status replace_corpus(const std::string& op,
                        const std::vector<std::vector<std::byte>>& entries) override {
    const std::lock_guard lock(mutex_);
    corpus_[op] = entries;
    return ok_status();
  }

  Status put_meta(const std::string& name, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    meta_[name] = value;
    return ok_status();
  }
  Result<std::optional<std::string>> meta(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto found = meta_.find(name);
    return found == meta_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  using Artifacts = std::map<std::string, ArtifactMetrics>;

  static Error no_baseline(const std::string& tag) {
    return error(ErrorCode::NotFound,
                 "no baseline '{}'; `gpuemu baseline save {}` makes one of the results there are",
                 tag, tag);
  }
  static std::vector<ArtifactMetrics> values_of(const Artifacts& artifacts) {
    std::vector<ArtifactMetrics> values;
    for (const auto& [kernel, metrics] : artifacts) values.push_back(metrics);
    return values;
  }
  struct Kept {
    ValidationResult result;
    uint64_t inputs = 0;  ///< See ResultToKeep.
  };

  static bool is_of(const Kept& kept, const ValidationResult& result) {
    return kept.result.op_name == result.op_name && kept.result.seed == result.seed;
  }
  Result<ValidationResult> newest(const std::vector<Kept>& kept, uint64_t seed,
                                  const std::string& op, const char* what) {
    const std::lock_guard lock(mutex_);
    for (auto entry = kept.rbegin(); entry != kept.rend(); ++entry) {
      const ValidationResult& one = entry->result;
      if (one.seed == seed && (op.empty() || one.op_name == op)) return one;
    }
    return error(ErrorCode::NotFound, "no {} with seed {}{}; `gpuemu failures` lists the failures",
                 what, seed, op.empty() ? "" : " of op '" + op + "'");
  }
  Result<std::vector<ValidationResult>> list(const std::vector<Kept>& kept, size_t limit,
                                             const std::string& op, size_t snapshot_bytes_max) {
    const std::lock_guard lock(mutex_);
    std::vector<ValidationResult> listed;
    SnapshotBudget budget(snapshot_bytes_max);
    for (auto entry = kept.rbegin(); entry != kept.rend() && listed.size() < limit; ++entry) {
      if (!op.empty() && entry->result.op_name != op) continue;
      listed.push_back(entry->result);
      budget.apply(listed.back());
      if (&kept == &failures_) listed.back().passes_now = is_mended(*entry);
    }
    return listed;
  }
  bool is_mended(const Kept& failure) const {
    return std::ranges::any_of(results_, [&](const Kept& newest) {
      return is_of(newest, failure.result) && passes_now({failure.result, true, failure.inputs},
                                                         {newest.result, false, newest.inputs});
    });
  }

  std::mutex mutex_;
  std::vector<Kept> results_, failures_;  // In the order of storing.
  std::map<std::string, std::map<std::pair<std::string, uint64_t>, ValidationResult>> baselines_;
  std::map<std::string, std::vector<ArtifactMetrics>> history_;  ///< By kernel, oldest first.
  std::map<std::string, Artifacts> artifact_baselines_;
  std::map<std::string, std::vector<std::vector<std::byte>>> corpus_;
  std::map<std::string, std::string> meta_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store() { return std::make_unique<MemoryStore>(); }

}  // namespace gpuemu
