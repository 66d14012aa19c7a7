// What the daemon stores for a project: results, failures, baselines, kernel metrics, corpus.
// Records are stored per (op, seed); a seed alone means the newest record with it. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/protocol/artifacts.gen.h"
#include "common/protocol/records.gen.h"

namespace gpuemu {

struct ResultToKeep {
  const ValidationResult& result;
  bool is_failure = false;
  /// Digest of the inputs of a case submitted by a client, which nothing else identifies; 0 for a
  /// case that follows from its seed.
  uint64_t inputs = 0;
};

/// Returns whether both belong to one case, so that the later one replaces the earlier. Cases
/// submitted by a client are the same if seed and inputs are equal.
bool is_same_case(const ValidationResult& one, const ValidationResult& other);

/// Returns whether a failure passes by now: `newest` is the newest result of its op and seed, from
/// a later run, a replay or a later submission.
bool passes_now(const ResultToKeep& failure, const ResultToKeep& newest);

/// Returns whether they differ only in when they were measured.
bool is_same_measurement(const ArtifactMetrics& one, ArtifactMetrics other);

/// A stored failure replaces the record of the same case (is_same_case); other failures of its (op,
/// seed) stay, distinguished by their order. If the disk is full, writing fails with
/// ResourceExhausted and reading still works.
class Store {
 public:
  virtual ~Store() = default;

  /// Stores each result (replacing one of the same op and seed) and, with `is_failure`, the
  /// failure, all in one step: after a crash all or nothing is there. Returns when it is on disk;
  /// storing many results at once waits only once.
  virtual Status put_results(std::span<const ResultToKeep> results) = 0;
  Status put_result(const ValidationResult& result, bool is_failure, uint64_t inputs = 0) {
    const ResultToKeep one{result, is_failure, inputs};
    return put_results({&one, 1});
  }
  /// Returns the newest one with that seed, of any op if `op` is "", with its snapshot. NotFound
  /// says which is missing.
  virtual Result<ValidationResult> result(uint64_t seed, const std::string& op = "") = 0;
  virtual Result<ValidationResult> failure(uint64_t seed, const std::string& op = "") = 0;
  /// Returns at most `limit` records, newest first, of any op if `op` is "". Input snapshots may
  /// exceed the memory, so only failures have them, and only up to `snapshot_bytes_max` in total.
  /// Failures say whether the newest result of the same seed and inputs passes.
  virtual Result<std::vector<ValidationResult>> list_results(size_t limit,
                                                             const std::string& op = "") = 0;
  virtual Result<std::vector<ValidationResult>> list_failures(size_t limit,
                                                              const std::string& op = "",
                                                              size_t snapshot_bytes_max = 0) = 0;
  /// Deletes failures with their inputs (of any seed or op if none is given), and the results of
  /// the same cases unless they pass by now. Returns the number of failures.
  virtual Result<uint64_t> delete_failures(std::optional<uint64_t> seed,
                                           const std::string& op = "") = 0;
  virtual Result<uint64_t> count_results() = 0;
  virtual Result<uint64_t> count_failures() = 0;

  /// Storing under an existing tag replaces it as a whole.
  virtual Status put_baseline(const std::string& tag,
                              const std::vector<ValidationResult>& results) = 0;
  /// NotFound if there is no such tag. Sorted by (op, seed).
  virtual Result<std::vector<ValidationResult>> baseline(const std::string& tag) = 0;
  virtual Result<std::vector<std::string>> list_baselines() = 0;
  /// NotFound if there is no such tag.
  virtual Status delete_baseline(const std::string& tag) = 0;

  /// Stores the kernel's current metrics, valid from now on, or from their timestamp if that is
  /// between the newest ones' and now. If they equal the newest, only updates `last_seen` of those.
  virtual Status put_artifact(const ArtifactMetrics& metrics) = 0;
  /// Returns the newest, or those in force at `time` (microseconds since 1970). NotFound if there
  /// are none.
  virtual Result<ArtifactMetrics> artifact_at(const std::string& kernel,
                                              std::optional<uint64_t> time) = 0;
  Result<ArtifactMetrics> artifact(const std::string& kernel) { return artifact_at(kernel, {}); }
  /// Returns the newest of each kernel, sorted by name.
  virtual Result<std::vector<ArtifactMetrics>> list_artifacts() = 0;
  /// Returns all metrics of a kernel, or of every kernel for "", newest first.
  virtual Result<std::vector<ArtifactMetrics>> artifact_history(const std::string& kernel) = 0;
  virtual Status put_artifact_baseline(const std::string& tag,
                                       const std::vector<ArtifactMetrics>& metrics) = 0;
  virtual Result<std::vector<ArtifactMetrics>> artifact_baseline(const std::string& tag) = 0;
  virtual Result<std::vector<std::string>> list_artifact_baselines() = 0;
  /// NotFound if there is no such tag.
  virtual Status delete_artifact_baseline(const std::string& tag) = 0;

  /// Interesting cases of an op in the order of storing; the caller defines the bytes.
  virtual Status put_corpus(const std::string& op, std::span<const std::byte> entry) = 0;
  virtual Result<std::vector<std::vector<std::byte>>> list_corpus(const std::string& op) = 0;
  /// Replaces all entries of the op in one step.
  virtual Status replace_corpus(const std::string& op,
                                const std::vector<std::vector<std::byte>>& entries) = 0;

  /// Small named texts of the daemon itself.
  virtual Status put_meta(const std::string& name, const std::string& value) = 0;
  virtual Result<std::optional<std::string>> meta(const std::string& name) = 0;
};

/// Prefixes of the meta() names of cached verdicts. A migration may drop these, because they can be
/// computed again.
inline constexpr std::string_view kOpVerdictMeta = "ci:op:", kKernelVerdictMeta = "ci:kernel:";
/// The meta() name of the trends of kernel metrics over CI runs, a CiRunComplete reply.
inline constexpr std::string_view kTrendsMeta = "ci:trends";

/// Corruption if the database lacks anything that was acknowledged; the message says which file is
/// damaged, how, and how many records cannot be read. Changes nothing; no daemon may have it open.
Status check_store(const std::filesystem::path& folder);

/// Returns a store in memory: for tests, and for a daemon that must not leave anything behind.
std::unique_ptr<Store> make_memory_store();

}  // namespace gpuemu
