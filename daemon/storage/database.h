// Private to this folder: RocksDB with the project's column families and the project's errors.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

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

class Database {
 public:
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& folder);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Writes everything or nothing; returns when it is on disk. ResourceExhausted while that is
  /// nearly full.
  Status write(rocksdb::WriteBatch& batch);
  Result<std::optional<std::string>> get(Family family, std::string_view key);
  /// Calls with every entry whose key starts with `prefix`, in order, until `visit` returns false.
  Status scan(
      Family family, std::string_view prefix,
      const std::function<Result<bool>(std::string_view key, std::string_view value)>& visit);

  /// Returns to the disk what was erased from these families.
  Status give_back(const std::vector<Family>& families);

  void put(rocksdb::WriteBatch& batch, Family family, std::string_view key, std::string_view value);
  void erase(rocksdb::WriteBatch& batch, Family family, std::string_view key);
  /// Every key that starts with `prefix`.
  void erase_all(rocksdb::WriteBatch& batch, Family family, std::string_view prefix);

 private:
  Database() = default;
  Status check_space(uint64_t bytes) const;
  rocksdb::ColumnFamilyHandle* handle(Family family) {
    return handles_[static_cast<size_t>(family)];
  }
  std::filesystem::path folder_;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> handles_{};
};

}  // namespace gpuemu::storage
