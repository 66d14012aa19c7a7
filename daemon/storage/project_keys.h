// Private to this folder: one project's view of the database. Adds the project's prefix to keys,
// and removes it from returned ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/database/database.h"
#include "daemon/records/keys.h"

namespace gpuemu::storage {

/// Each member corresponds to that of Database with the same name, limited to the project's keys.
class ProjectKeys {
 public:
  ProjectKeys(std::shared_ptr<Database> database, std::string_view project)
      : database_(std::move(database)), prefix_(project_prefix(project)) {}

  Status write(rocksdb::WriteBatch& batch) { return database_->write(batch); }
  Result<std::optional<std::string>> get(Family family, std::string_view key) {
    return database_->get(family, full(key));
  }
  Result<std::vector<std::optional<std::string>>> get_all(Family family,
                                                          std::vector<std::string> keys) {
    for (std::string& key : keys) key.insert(0, prefix_);
    return database_->get_all(family, keys);
  }
  Status scan(
      Family family, std::string_view prefix,
      const std::function<Result<bool>(std::string_view key, std::string_view value)>& visit) {
    return database_->scan(family, full(prefix), [&](std::string_view key, std::string_view value) {
      return visit(key.substr(prefix_.size()), value);
    });
  }
  Status give_back(const std::vector<Family>& families) { return database_->give_back(families); }
  void put(rocksdb::WriteBatch& batch, Family family, std::string_view key,
           std::string_view value) {
    database_->put(batch, family, full(key), value);
  }
  void erase(rocksdb::WriteBatch& batch, Family family, std::string_view key) {
    database_->erase(batch, family, full(key));
  }
  void erase_all(rocksdb::WriteBatch& batch, Family family, std::string_view prefix) {
    database_->erase_all(batch, family, full(prefix));
  }

 private:
  std::string full(std::string_view key) const { return prefix_ + std::string(key); }

  const std::shared_ptr<Database> database_;
  const std::string prefix_;
};

}  // namespace gpuemu::storage
