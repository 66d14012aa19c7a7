// The ledger: a file of its own in the database folder (LEDGER) that lists what the database has
// acknowledged, so that lost bytes of the other files are noticed. It lags by at most
// kLedgerPeriod.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::storage {

enum class Family {
  Results,
  Failures,
  Baselines,
  Artifacts,
  ArtifactBaselines,
  Corpus,
  Meta,
  Index,
};
inline constexpr size_t kFamilyCount = 8;
/// The first families hold records of the user; the rest are auxiliary.
inline constexpr size_t kCountedFamilies = 6;
/// In the order of Family.
inline constexpr const char* kFamilyNames[kFamilyCount] = {
    "results", "failures", "baselines", "artifacts", "artifact_baselines",
    "corpus",  "meta",     "index"};

using RecordCounts = std::array<uint64_t, kCountedFamilies>;

/// The start of a file that is only appended to: RocksDB's logs and manifests.
struct FilePrefix {
  std::string name;  ///< In the database folder.
  uint64_t bytes = 0, digest = 0;
};

/// The ledger's file name in the database folder.
inline constexpr char kLedgerName[] = "LEDGER";

struct Ledger {
  /// The database was being opened: its files may be newer than those listed.
  bool opening = false;
  /// Records were being deleted: there may be fewer than counted.
  bool shrinking = false;
  uint64_t sequence = 0;  ///< RocksDB's number of the last acknowledged change.
  RecordCounts records{};
  FilePrefix manifest;
  std::vector<FilePrefix> logs;
};

/// Returns nothing if there is none; Corruption if it was altered.
Result<std::optional<Ledger>> read_ledger(const std::filesystem::path& folder);
/// Replaces the ledger atomically; returns when it is on disk.
Status write_ledger(const std::filesystem::path& folder, const Ledger& ledger);

/// The digest of zero bytes. Any changed byte changes the digest.
inline constexpr uint64_t kEmptyDigest = 0xcbf29ce484222325;
/// Extends `prefix` to `bytes` of its file. Corruption if the file is shorter, NotFound if there is
/// none.
Status extend(FilePrefix& prefix, const std::filesystem::path& folder, uint64_t bytes);

}  // namespace gpuemu::storage
