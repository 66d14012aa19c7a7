// What the daemon remembers of a project: results, failures, baselines, kernel metrics, corpus.
// Records are kept per (op, seed); a seed alone means the newest record with it. All calls from any
// thread.
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
#include "common/protocol/artifacts.h"
#include "common/protocol/records.h"

namespace gpuemu {

struct ResultToKeep {
  const ValidationResult& result;
  bool is_failure = false;
  /// Digest of the inputs of a case that a client submitted, which nothing else tells; 0 for a case
  /// that follows from its seed.
  uint64_t inputs = 0;
};

/// Whether both are of one case: what a later run found of it is what is known now. Of cases that a
/// client submitted those with the same seed and inputs are one.
bool is_same_case(const ValidationResult& one, const ValidationResult& other);

/// Whether a failure passes by now: `newest` is the newest result of its op and seed, of a later
/// run, a replay or a later submission.
bool passes_now(const ResultToKeep& failure, const ResultToKeep& newest);

/// Whether nothing differs but when it was measured.
bool is_same_measurement(const ArtifactMetrics& one, ArtifactMetrics other);

/// A failure that is kept again replaces the record of the same case (is_same_case); others of its
/// (op, seed) stay, told apart by order of storing. Where the disk is full, writing is
/// ResourceExhausted and reading goes on.
class Store {
 public:
  virtual ~Store() = default;

  /// Keeps each result (replacing one of the same op and seed) and, when `is_failure`, the failure,
  /// all in one step: after a crash everything is there or nothing. Returns after it is on disk;
  /// many results at a time share that one wait.
  virtual Status put_results(std::span<const ResultToKeep> results) = 0;
  Status put_result(const ValidationResult& result, bool is_failure, uint64_t inputs = 0) {
    const ResultToKeep one{result, is_failure, inputs};
    return put_results({&one, 1});
  }
  /// The newest with that seed, of any op when `op` is "", with its snapshot. NotFound says which.
  virtual Result<ValidationResult> result(uint64_t seed, const std::string& op = "") = 0;
  virtual Result<ValidationResult> failure(uint64_t seed, const std::string& op = "") = 0;
  /// Newest stored first, at most `limit`, of any op when `op` is "". Their input snapshots may be
  /// far more than memory holds: only failures have them, and only until `snapshot_bytes_max`.
  /// Failures say whether the newest result of the same seed and inputs passes.
  virtual Result<std::vector<ValidationResult>> list_results(size_t limit,
                                                             const std::string& op = "") = 0;
  virtual Result<std::vector<ValidationResult>> list_failures(size_t limit,
                                                              const std::string& op = "",
                                                              size_t snapshot_bytes_max = 0) = 0;
  /// Forgets failures with their inputs, of any seed or op where none is given, and the results of
  /// the same cases unless they pass by now; says how many failures.
  virtual Result<uint64_t> delete_failures(std::optional<uint64_t> seed,
                                           const std::string& op = "") = 0;
  virtual Result<uint64_t> count_results() = 0;
  virtual Result<uint64_t> count_failures() = 0;

  /// Snapshots: storing under an existing tag replaces it as a whole.
  virtual Status put_baseline(const std::string& tag,
                              const std::vector<ValidationResult>& results) = 0;
  /// NotFound when there is no such tag; in order of (op, seed).
  virtual Result<std::vector<ValidationResult>> baseline(const std::string& tag) = 0;
  virtual Result<std::vector<std::string>> list_baselines() = 0;
  /// NotFound when there is no such tag.
  virtual Status delete_baseline(const std::string& tag) = 0;

  /// These are the kernel's metrics from now on, or since their timestamp where that lies between
  /// its newest ones and now. Where they equal the newest, those get a new `last_seen`.
  virtual Status put_artifact(const ArtifactMetrics& metrics) = 0;
  /// The newest, or those in force at `time` (microseconds since 1970). NotFound where there are
  /// none.
  virtual Result<ArtifactMetrics> artifact_at(const std::string& kernel,
                                              std::optional<uint64_t> time) = 0;
  Result<ArtifactMetrics> artifact(const std::string& kernel) { return artifact_at(kernel, {}); }
  /// The newest of each kernel, in order of name.
  virtual Result<std::vector<ArtifactMetrics>> list_artifacts() = 0;
  /// All of a kernel, of every kernel where it is "", newest first.
  virtual Result<std::vector<ArtifactMetrics>> artifact_history(const std::string& kernel) = 0;
  virtual Status put_artifact_baseline(const std::string& tag,
                                       const std::vector<ArtifactMetrics>& metrics) = 0;
  virtual Result<std::vector<ArtifactMetrics>> artifact_baseline(const std::string& tag) = 0;
  virtual Result<std::vector<std::string>> list_artifact_baselines() = 0;
  /// NotFound when there is no such tag.
  virtual Status delete_artifact_baseline(const std::string& tag) = 0;

  /// Interesting cases of an op, in order of storing; the bytes are the caller's.
  virtual Status put_corpus(const std::string& op, std::span<const std::byte> entry) = 0;
  virtual Result<std::vector<std::vector<std::byte>>> list_corpus(const std::string& op) = 0;
  /// Puts these in place of all entries of the op, in one step.
  virtual Status replace_corpus(const std::string& op,
                                const std::vector<std::vector<std::byte>>& entries) = 0;

  /// Small named texts of the daemon itself.
  virtual Status put_meta(const std::string& name, const std::string& value) = 0;
  virtual Result<std::optional<std::string>> meta(const std::string& name) = 0;
};

/// Prefixes of the meta() names that hold cached verdicts. A migration may drop those, since they
/// can be computed again.
inline constexpr std::string_view kOpVerdictMeta = "ci:op:", kKernelVerdictMeta = "ci:kernel:";
/// The meta() name of the trends of kernel metrics over CI runs, a CiRunComplete reply.
inline constexpr std::string_view kTrendsMeta = "ci:trends";

/// Corruption when the database lacks anything that was acknowledged: which file, what is wrong
/// with it, how many records cannot be read. Changes nothing; no daemon may have it open.
Status check_store(const std::filesystem::path& folder);

/// Keeps everything in memory: for tests, and for a daemon that shall leave nothing behind.
std::unique_ptr<Store> make_memory_store();

}  // namespace gpuemu
