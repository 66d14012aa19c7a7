// The stores of all projects in one database.
#include "daemon/storage/project_stores.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include "common/process/acting_user.h"
#include "daemon/database/backup.h"
#include "daemon/database/check.h"
#include "daemon/database/repair.h"
#include "daemon/database/replace.h"
#include "daemon/database/restore.h"
#include "daemon/database/verify.h"
#include "daemon/records/keys.h"
#include "daemon/records/values.h"
#include "daemon/storage/migrate.h"
#include "daemon/storage/prune_records.h"
#include "daemon/storage/rocks_store.h"
#include "daemon/storage/stored_artifacts.h"
#include "daemon/storage/stored_counts.h"
#include "daemon/storage/take_records.h"

namespace gpuemu {
namespace {

using storage::Database;
using storage::Family;

/// Returns the database's schema version; nothing for a database without records.
Result<std::optional<uint64_t>> schema_version(Database& database) {
  const auto text = GPUEMU_TRY(database.get(Family::Meta, storage::kSchemaVersionKey));
  if (!text) return std::optional<uint64_t>();
  uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, failed] = std::from_chars(text->data(), end, number);
  if (failed == std::errc() && stop == end) return std::optional(number);
  return error(ErrorCode::Corruption, "its schema version is '{}', expected a number", *text);
}

/// Opens the database, and migrates it if its schema is older.
Result<std::shared_ptr<Database>> open_current(const std::filesystem::path& folder,
                                               const ProjectNames& first, std::string& note) {
  GPUEMU_TRY(storage::finish_migration(folder));
  GPUEMU_TRY(storage::finish_replacing(folder));
  GPUEMU_TRY(storage::remove_unfinished_backup(folder));
  auto database = GPUEMU_TRY(Database::open(folder));
  const auto version = GPUEMU_TRY(schema_version(*database));
  if (!version) {
    GPUEMU_TRY(storage::set_schema_version(*database));
  } else if (*version == storage::kSchemaWithoutProjects) {
    note = GPUEMU_TRY(storage::migrate(std::move(database), folder, first));
    database = GPUEMU_TRY(Database::open(folder));
  } else if (*version != storage::kSchemaVersion) {
    return error(ErrorCode::Unsupported,
                 "the database has schema version {}, this gpuemu knows version {}; upgrade gpuemu "
                 "or choose another storage folder",
                 *version, storage::kSchemaVersion);
  }
  GPUEMU_TRY(storage::date_artifacts(*database));
  if (note.empty()) note = database->note();
  return std::shared_ptr<Database>(std::move(database));
}

class RocksStores : public ProjectStores {
 public:
  RocksStores(std::shared_ptr<Database> database, std::string note)
      : database_(std::move(database)), note_(std::move(note)) {}

  Result<std::shared_ptr<Store>> of(const std::string& project) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Store>& store = stores_[project];
    if (store == nullptr) {
      store = GPUEMU_TRY(storage::make_rocks_store(database_, stamps_, project));
    }
    return store;
  }
  Status remember(const StoredProject& project) override {
    rocksdb::WriteBatch batch;
    database_->put(batch, Family::Meta, std::string(storage::kProjectPrefix) + project.id,
                   storage::encode_project(project));
    return database_->write(batch);
  }
  Result<std::vector<StoredProject>> projects() override {
    std::vector<StoredProject> all;
    const auto visit = [&](std::string_view key, std::string_view value) -> Result<bool> {
      auto project = GPUEMU_TRY(storage::decode_project(value));
      project.id = key.substr(storage::kProjectPrefix.size());
      all.push_back(std::move(project));
      return true;
    };
    GPUEMU_TRY(database_->scan(Family::Meta, storage::kProjectPrefix, visit));
    return all;
  }
  Result<Taken> take(const Taking& taking) override {
    return storage::take_records(*database_, taking);
  }
  Status forget(const std::string& project) override {
    const std::string prefix = storage::project_prefix(project);
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < storage::kFamilyCount; ++i) {
      database_->erase_all(batch, static_cast<Family>(i), prefix);
    }
    database_->erase(batch, Family::Meta, std::string(storage::kProjectPrefix) + project);
    GPUEMU_TRY(database_->write(batch));
    return database_->give_back({Family::Failures, Family::Results});
  }
  Result<uint64_t> bytes(const std::string& project) override {
    const ActingOwner owner;
    return storage::bytes_of_records(*database_, project);
  }
  Result<StorageStatusReply> status(const std::vector<StoredProject>& listed) override {
    const ActingOwner owner;
    return storage::stored_counts(*database_, listed);
  }
  Result<PrunedTotals> prune(const Pruning& pruning) override {
    return storage::prune_records(*database_, pruning);
  }
  Result<StorageReportReply> verify() override { return database_->verify(); }
  Result<StorageCompactedReply> compact() override {
    const ActingOwner owner;
    const uint64_t before = storage::bytes_of_files(database_->folder());
    GPUEMU_TRY(database_->compact());
    const uint64_t after = storage::bytes_of_files(database_->folder());
    return StorageCompactedReply{before - std::min(before, after), after};
  }
  std::string damage() const override { return database_->damage(); }
  Status back_up(const std::filesystem::path& place) override {
    const std::lock_guard lock(backup_mutex_);
    return storage::back_up(*database_, place);
  }
  std::string note() const override { return note_; }

 private:
  const std::shared_ptr<Database> database_;
  const std::shared_ptr<storage::Stamps> stamps_ = std::make_shared<storage::Stamps>();
  const std::string note_;
  std::mutex backup_mutex_;  // One backup at a time.
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Store>> stores_;  // Guarded by mutex_.
};

/// Returns the number of records in the database for messages; "" for none.
std::string records_in(const std::filesystem::path& folder) {
  if (!storage::has_database(folder)) return "";
  const auto ledger = storage::read_ledger(folder);
  if (!ledger || !*ledger) return "an unknown number of";
  uint64_t all = 0;
  for (const uint64_t count : (*ledger)->records) all += count;
  return all == 0 ? "" : std::to_string(all);
}

}  // namespace

Status check_store(const std::filesystem::path& folder) {
  const auto checked = storage::check_database(folder);
  return checked ? ok_status() : Status(checked.error());
}

StorageReportReply verify_store(const std::filesystem::path& folder) {
  return storage::verify_folder(folder);
}

Result<StorageReportReply> repair_store(const std::filesystem::path& folder, bool dry_run) {
  GPUEMU_TRY(storage::finish_replacing(folder));
  StorageReportReply found = storage::verify_folder(folder);
  if (found.state == StorageState::Whole) return found;
  return storage::repair(folder, std::move(found), dry_run);
}

Result<StorageReportReply> restore_store(const std::filesystem::path& folder,
                                         const std::filesystem::path& backup, bool force) {
  if (!storage::has_database(backup)) {
    return error(ErrorCode::InvalidArgument,
                 "{} holds no database; expected a folder that `gpuemu storage backup` wrote",
                 backup.native());
  }
  StorageReportReply report = storage::verify_folder(backup);
  if (report.state != StorageState::Whole) {
    const std::string why =
        report.files.empty() ? "records are missing" : storage::text_of(report.files.front());
    return error(ErrorCode::Corruption,
                 "the backup {} is damaged: {}; {} of its records cannot be read; nothing was "
                 "changed; `gpuemu storage repair` with GPUEMU_DB={} saves what can be read of it",
                 backup.native(), why, report.lost, backup.native());
  }
  const std::string records = records_in(folder);
  if (!records.empty() && !force) {
    return error(ErrorCode::InvalidArgument,
                 "the database {} has {} records; --force puts the backup in its place and keeps "
                 "it beside the new one",
                 folder.native(), records);
  }
  report.kept_as = GPUEMU_TRY(storage::restore(folder, backup)).native();
  return report;
}

Result<std::unique_ptr<ProjectStores>> open_stores(const std::filesystem::path& folder,
                                                   const ProjectNames& first) {
  std::string note;
  auto database = open_current(folder, first, note);
  if (!database) {
    Error failure = database.error();
    if (failure.code == ErrorCode::Unsupported) failure = failure.with_context(folder.native());
    return failure;
  }
  return std::unique_ptr<ProjectStores>(
      std::make_unique<RocksStores>(*std::move(database), std::move(note)));
}

}  // namespace gpuemu
