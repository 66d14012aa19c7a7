// What is stored, counted, pruned, verified and copied: requests, their replies and what those
// hold.
// Written by tools/make_protocol.py from storage.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

/// What is stored of one project, counted.
struct StoredOfProject {
  std::string id;
  std::string name;
  std::string path;  ///< Its gpuemu.toml; "" where it has none.
  uint64_t passing = 0;  ///< Results that pass.
  uint64_t failures = 0;
  uint64_t artifacts = 0;  ///< Kernels with metrics.
  uint64_t artifact_history = 0;  ///< Earlier metrics of kernels.
  uint64_t baselines = 0;  ///< Tags.
  uint64_t corpus = 0;  ///< Entries.
  uint64_t runs = 0;  ///< CI runs in trends.
  uint64_t bytes = 0;  ///< Keys and values of all its records.
  /// Bytes of each kind of record, where the request asks for them.
  std::map<std::string, uint64_t> bytes_by_kind;
  std::string user;  ///< Owner of the records, on a daemon that several users share.
  bool operator==(const StoredOfProject&) const = default;
};

/// How many records of each kind were deleted.
struct PrunedRecords {
  uint64_t passing = 0;
  uint64_t failures = 0;
  uint64_t artifacts = 0;
  uint64_t runs = 0;
  bool operator==(const PrunedRecords&) const = default;
};

/// What is wrong with a file of the database, or with one of its indexes.
struct FileProblem {
  std::string name;
  std::string problem;
  bool operator==(const FileProblem&) const = default;
};

enum class StorageState {
  Whole,
  Damaged,
  Repaired,
};
inline constexpr StorageState kLastStorageState = StorageState::Repaired;
/// The name on the wire, and back.
const char* name_of(StorageState value);
std::optional<StorageState> storage_state_from_name(const std::string& name);

struct StorageClaimedReply {
  bool dry_run = false;
  uint64_t results = 0;
  uint64_t failures = 0;
  uint64_t baselines = 0;
  uint64_t artifacts = 0;
  uint64_t corpus = 0;
  bool operator==(const StorageClaimedReply&) const = default;
};

struct StorageStatusReply {
  std::string path;  ///< The folder.
  uint64_t schema_version = 0;
  uint64_t bytes_on_disk = 0;  ///< All files in the folder.
  std::map<std::string, uint64_t> pruned;  ///< By kind, of the projects that are listed.
  bool damaged = false;
  std::vector<StoredOfProject> projects;
  int64_t last_prune = 0;  ///< Seconds since 1970; 0: never.
  bool operator==(const StorageStatusReply&) const = default;
};

struct StoragePrunedReply {
  bool dry_run = false;
  PrunedRecords removed;
  uint64_t bytes_freed = 0;  ///< Keys and values of what went.
  bool operator==(const StoragePrunedReply&) const = default;
};

struct StorageReportReply {
  StorageState state = StorageState::Whole;
  std::map<std::string, uint64_t> expected;  ///< Records by kind.
  std::map<std::string, uint64_t> readable;
  uint64_t lost = 0;  ///< Records that cannot be read.
  std::vector<FileProblem> files;
  std::string kept_as;  ///< Where the damaged folder is kept.
  bool operator==(const StorageReportReply&) const = default;
};

struct StorageCompactedReply {
  uint64_t bytes_freed = 0;
  uint64_t bytes_on_disk = 0;  ///< All files in the folder now.
  bool operator==(const StorageCompactedReply&) const = default;
};

/// Keeps metrics that the client measured.
struct StoreArtifactRequest {
  std::string kernel_name;
  ArtifactMetrics metrics;
  bool operator==(const StoreArtifactRequest&) const = default;
};

/// Keeps the stored metrics under a tag.
struct StoreArtifactBaselineRequest {
  std::string tag;
  std::vector<std::string> kernels;  ///< Not empty: only metrics under these names.
  bool operator==(const StoreArtifactBaselineRequest&) const = default;
};

/// Compares the metrics of now with a baseline.
struct DiffArtifactBaselineRequest {
  std::string tag;
  std::vector<ArtifactMetrics> baseline;  ///< Not empty: compare with these, `tag` is their name.
  std::vector<std::string> kernels;  ///< Not empty: only metrics of now under these names.
  bool operator==(const DiffArtifactBaselineRequest&) const = default;
};

/// The stored metrics of one kernel.
struct GetArtifactRequest {
  std::string kernel_name;
  /// The time whose metrics are wanted, in seconds or microseconds since 1970; absent: the newest
  /// metrics.
  std::optional<int64_t> timestamp;
  bool operator==(const GetArtifactRequest&) const = default;
};

/// The stored metrics of all kernels: the newest of each in order of name, or all.
struct ListArtifactsRequest {
  bool history = false;  ///< All, newest first.
  std::string kernel_name;  ///< Only of this kernel; "": of all.
  std::optional<uint64_t> limit;  ///< At most so many.
  bool operator==(const ListArtifactsRequest&) const = default;
};

/// `gpuemu storage claim`: takes what was stored before projects were told apart, of the ops and
/// kernels of this project.
struct StorageClaimRequest {
  std::vector<std::string> ops;  ///< Only of these; empty: all.
  bool all = false;  ///< Whatever its name.
  bool dry_run = false;  ///< Count only.
  bool operator==(const StorageClaimRequest&) const = default;
};

/// `gpuemu storage status`: what is stored, counted.
struct StorageStatusRequest {
  bool kinds = false;  ///< Tell bytes_by_kind too.
  bool operator==(const StorageStatusRequest&) const = default;
};

/// `gpuemu storage prune`: deletes records. Without members: what is beyond the limits of
/// retention. With a bound and no kind: of every kind.
struct StoragePruneRequest {
  bool passing = false;  ///< Results that pass.
  bool failures = false;  ///< With their inputs.
  bool artifacts = false;  ///< Metrics of kernels.
  bool runs = false;  ///< CI runs in trends.
  std::string op;  ///< Only of this op, or metrics of the kernel with this name; "": of all.
  std::optional<uint64_t> older_than;  ///< Only what was stored before so many seconds.
  std::optional<uint64_t> keep;  ///< Not the newest so many of each kind.
  std::optional<uint64_t> bytes;  ///< Oldest first, until no more than this is left of the project.
  bool dry_run = false;  ///< Count only.
  bool operator==(const StoragePruneRequest&) const = default;
};

/// `gpuemu storage verify`: reads every file, checksum, record and index entry.
struct StorageVerifyRequest {
  bool operator==(const StorageVerifyRequest&) const = default;
};

/// `gpuemu storage backup`: writes a consistent copy while others go on writing.
struct StorageBackupRequest {
  std::string path;  ///< Absolute; must not exist; appears whole or not at all.
  bool operator==(const StorageBackupRequest&) const = default;
};

/// `gpuemu storage compact`: gives unused bytes back to the disk.
struct StorageCompactRequest {
  bool operator==(const StorageCompactRequest&) const = default;
};

}  // namespace gpuemu
