// The stores of all projects over one database.
#include "daemon/storage/project_stores.h"

#include <charconv>
#include <map>
#include <mutex>

#include "daemon/database/backup.h"
#include "daemon/database/check.h"
#include "daemon/database/verify.h"
#include "daemon/records/keys.h"
#include "daemon/records/values.h"
#include "daemon/storage/migrate.h"
#include "daemon/storage/prune_records.h"
#include "daemon/storage/rocks_store.h"
#include "daemon/storage/stored_counts.h"
#include "daemon/storage/take_records.h"

namespace gpuemu {
namespace {

using storage::Database;
using storage::Family;

/// The database's schema version; nullopt for a database without records.
Result<std::optional<uint64_t>> schema_version(Database& database) {
  const auto text = GPUEMU_TRY(database.get(Family::Meta, storage::kSchemaVersionKey));
  if (!text) return std::optional<uint64_t>();
  uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, failed] = std::from_chars(text->data(), end, number);
  if (failed == std::errc() && stop == end) return std::optional(number);
  return error(ErrorCode::Corruption, "its schema version is '{}', expected a number", *text);
}

/// Opens the database, migrating it to the current schema if it is older.
Result<std::shared_ptr<Database>> open_current(const std::filesystem::path& folder,
                                               const ProjectNames& first, std::string& note) {
  GPUEMU_TRY(storage::finish_migration(folder));
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
    return database_->bytes_below(storage::project_prefix(project));
  }
  Result<StorageStatusReply> status(const std::vector<StoredProject>& listed) override {
    return storage::stored_counts(*database_, listed);
  }
  Result<PrunedTotals> prune(const Pruning& pruning) override {
    return storage::prune_records(*database_, pruning);
  }
  Result<StorageReportReply> verify() override { return database_->verify(); }
  Status back_up(const std::filesystem::path& place) override {
    const std::lock_guard lock(backup_mutex_);
    return storage::back_up(*database_, place);
  }
  std::string note() const override { return note_; }

 private:
  const std::shared_ptr<Database> database_;
  const std::shared_ptr<storage::Stamps> stamps_ = std::make_shared<storage::Stamps>();
  const std::string note_;
  std::mutex backup_mutex_;  // One at a time.
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Store>> stores_;  // Guarded by mutex_.
};

}  // namespace

Status check_store(const std::filesystem::path& folder) {
  const auto checked = storage::check_database(folder);
  return checked ? ok_status() : Status(checked.error());
}

StorageReportReply verify_store(const std::filesystem::path& folder) {
  std::vector<FileProblem> problems = storage::check_files(folder);
  const auto checked = storage::check_database(folder);
  if (checked && checked->is_new) return storage::unread_report({}, std::move(problems));
  std::optional<storage::RecordCounts> expected;
  const auto ledger = storage::read_ledger(folder);
  if (checked) {
    expected = checked->counts;
  } else if (ledger && *ledger) {
    expected = (*ledger)->records;
  }
  // A table that is damaged is met when it is read.
  const auto rocks = storage::open_to_read(
      folder, checked ? storage::Reading::Strict : storage::Reading::Whatever);
  StorageReportReply report =
      rocks
          ? storage::verify_records(*rocks, folder, nullptr, expected, std::move(problems))
          : storage::unread_report(expected.value_or(storage::RecordCounts{}), std::move(problems));
  if (!checked && report.state == StorageState::Whole) {
    report.state = StorageState::Damaged;
    report.files.push_back({folder.filename().native(), checked.error().message});
  }
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
