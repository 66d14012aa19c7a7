// Copies every record to its key in the current schema, compares the counts, and exchanges the
// folders.
#include "daemon/storage/migrate.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <set>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/project_id.h"
#include "common/base/unique_fd.h"
#include "daemon/database/folders.h"
#include "daemon/database/ledger.h"
#include "daemon/database/rocks.h"
#include "daemon/records/keys.h"

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBatchBytes = size_t{1} << 20;
/// Disk space needed besides the copy itself, for RocksDB's logs, manifests and preallocation.
constexpr uint64_t kSpareBytes = uint64_t{64} << 20;

fs::path unfinished(const fs::path& folder) { return folder.native() + ".migrating"; }

/// Returns an unused path for the old database: FOLDER.schema1, else FOLDER.schema1-2 and so on.
fs::path place_for_old(const fs::path& folder) {
  const std::string wanted = folder.native() + ".schema1";
  fs::path place = wanted;
  std::error_code ignored;
  for (int number = 2; fs::exists(place, ignored); ++number) {
    place = fmt::format("{}-{}", wanted, number);
  }
  return place;
}

bool has_files(const fs::path& folder, const char* name) {
  std::error_code ignored;
  return fs::exists(folder / name, ignored);
}

/// Copies every record of one database to another, under its project's prefix.
class Copy {
 public:
  Copy(Database& from, OpenedRocks& to, const fs::path& to_folder, const ProjectNames& first)
      : from_(from), to_(to), to_folder_(to_folder), first_(first) {}

  Status run() {
    GPUEMU_TRY(find_own_tags());
    GPUEMU_TRY(copy(Family::Results, [this](std::string_view key, std::string_view) {
      return project_of_op(op_of_result_key(key));
    }));
    GPUEMU_TRY(copy(Family::Failures, [this](std::string_view key, std::string_view) {
      return project_of_failure(key);
    }));
    for (const Family family : {Family::Baselines, Family::ArtifactBaselines}) {
      GPUEMU_TRY(copy(family, [this](std::string_view key, std::string_view) {
        const auto tag = owner_of(key);
        return project_if(tag && own_tags_.contains(std::string(*tag)));
      }));
    }
    GPUEMU_TRY(copy(Family::Artifacts, [this](std::string_view key, std::string_view) {
      const auto dated = parse_artifact_key(key);
      return project_if(first_.kernels.contains(std::string(dated ? dated->kernel : key)));
    }));
    GPUEMU_TRY(copy(Family::Corpus, [this](std::string_view key, std::string_view) {
      return project_of_op(owner_of(key));
    }));
    GPUEMU_TRY(copy(Family::Index, [this](std::string_view key, std::string_view record) {
      return key.starts_with('f') ? project_of_failure(record)
                                  : project_of_op(op_of_result_key(record));
    }));
    GPUEMU_TRY(copy(Family::Meta, [this](std::string_view key, std::string_view) {
      return is_dropped(key) ? std::string() : first_.id;
    }));
    return end();
  }
  /// Returns the number of records read, by family.
  const RecordCounts& counts() const { return counts_; }

 private:
  const std::string& project_if(bool own) const { return own ? first_.id : legacy_; }
  const std::string& project_of_op(std::optional<std::string_view> op) const {
    return project_if(op && first_.ops.contains(std::string(*op)));
  }
  const std::string& project_of_failure(std::string_view key) const {
    const auto parts = parse_failure_key(key);
    return project_of_op(parts ? std::optional(parts->op) : std::nullopt);
  }
  static bool is_dropped(std::string_view key) {
    if (!key.starts_with(kUserPrefix)) return true;
    const std::string_view name = key.substr(kUserPrefix.size());
    return name.starts_with(kOpVerdictMeta) || name.starts_with(kKernelVerdictMeta);
  }

  /// Collects the tags that go to the project: a baseline that has one of its ops or kernels is
  /// moved whole.
  Status find_own_tags() {
    const auto look = [this](std::string_view key, std::string_view) -> Result<bool> {
      const auto tag = owner_of(key);
      if (!tag) return true;
      std::string_view name = key.substr(owner_prefix(*tag).size());
      const bool is_kernel = name.starts_with(':');
      if (is_kernel) name.remove_prefix(1);
      const auto op = op_of_result_key(name);
      const bool own = is_kernel ? first_.kernels.contains(std::string(name))
                                 : op && first_.ops.contains(std::string(*op));
      if (own) own_tags_.emplace(*tag);
      return true;
    };
    GPUEMU_TRY(from_.scan(Family::Baselines, "", look));
    return from_.scan(Family::ArtifactBaselines, "", look);
  }

  /// Copies a family. `project_of` returns the project of a record, or "" to drop it.
  template <typename ProjectOf>
  Status copy(Family family, const ProjectOf& project_of) {
    const auto at = static_cast<size_t>(family);
    return from_.scan(
        family, "", [&](std::string_view key, std::string_view value) -> Result<bool> {
          if (at < kCountedFamilies) ++counts_[at];
          const std::string project = project_of(key, value);
          if (project.empty()) return true;
          const auto put = batch_.Put(to_.handles[at], project_prefix(project) + std::string(key),
                                      rocksdb::Slice(value.data(), value.size()));
          if (!put.ok()) return error_of(put, to_folder_);
          if (batch_.GetDataSize() >= kBatchBytes) GPUEMU_TRY(write());
          return true;
        });
  }

  Status write() {
    rocksdb::WriteOptions options;
    options.disableWAL = true;  // end() flushes everything.
    const auto written = to_.db->Write(options, &batch_);
    batch_.Clear();
    return written.ok() ? ok_status() : Status(error_of(written, to_folder_));
  }

  Status end() {
    GPUEMU_TRY(write());
    for (rocksdb::ColumnFamilyHandle* family : to_.handles) {
      const auto flushed = to_.db->Flush(rocksdb::FlushOptions(), family);
      if (!flushed.ok()) return error_of(flushed, to_folder_);
    }
    return ok_status();
  }

  Database& from_;
  OpenedRocks& to_;
  const fs::path& to_folder_;
  const ProjectNames& first_;
  const std::string legacy_ = kLegacyProject;
  std::set<std::string> own_tags_;
  rocksdb::WriteBatch batch_;
  RecordCounts counts_{};
};

Status check_space(const fs::path& folder) {
  uint64_t bytes = kSpareBytes;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    std::error_code gone;
    const uint64_t size = at->file_size(gone);
    if (!gone) bytes += size;
  }
  const auto space = fs::space(folder, ignored);
  if (ignored || space.available >= bytes) return ok_status();
  return error(ErrorCode::ResourceExhausted,
               "not enough disk space to migrate the database {}, whose records this gpuemu keeps "
               "per project: {} MiB are free, {} MiB are needed; nothing was changed; free some "
               "space, or set GPUEMU_DB to a folder on another disk",
               folder.native(), space.available >> 20, (bytes >> 20) + 1);
}

/// Builds the migrated copy in `fresh`, and compares its ledger's counts with the records read.
Status build(Database& old, const fs::path& fresh, const ProjectNames& first) {
  RecordCounts wanted{};
  {
    OpenedRocks rocks = GPUEMU_TRY(open_to_write(fresh));
    Copy copy(old, rocks, fresh, first);
    GPUEMU_TRY(copy.run());
    wanted = copy.counts();
  }
  {
    const auto database = GPUEMU_TRY(Database::open(fresh));
    GPUEMU_TRY(set_schema_version(*database));
  }
  const auto ledger = GPUEMU_TRY(read_ledger(fresh));
  if (ledger && ledger->records == wanted) return ok_status();
  const RecordCounts found = ledger ? ledger->records : RecordCounts{};
  return error(ErrorCode::Internal,
               "the migrated copy has {} records, expected {}; nothing was changed; please report "
               "this",
               std::accumulate(found.begin(), found.end(), uint64_t{0}),
               std::accumulate(wanted.begin(), wanted.end(), uint64_t{0}));
}

/// Moves `fresh` to `folder`, and the old `folder` to `kept`. A file system that cannot exchange
/// two names needs two moves; if the daemon ends between them, finish_migration() makes the second.
Status change_places(const fs::path& fresh, const fs::path& folder, const fs::path& kept) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    GPUEMU_TRY(sync_path(folder.parent_path()));
    return move_folder(fresh, kept);
  }
  const int why = errno;
  const bool may_replace = why == EINVAL || why == ENOSYS || why == ENOTSUP;
  std::error_code ignored;
  if (!may_replace) fs::remove_all(fresh, ignored);  // Nothing moved: `fresh` is still the copy.
  if (why == EBUSY) {
    return error(ErrorCode::Unavailable,
                 "{} is the root of a mounted disk, so no other folder can take its place; nothing "
                 "was changed; move its files into a folder on that disk and set GPUEMU_DB to it",
                 folder.native());
  }
  errno = why;
  if (!may_replace) return io_error("move the migrated database to", folder);
  GPUEMU_TRY(move_folder(folder, kept));
  return move_folder(fresh, folder);
}

/// Returns whether the folder holds an old database that a migration moved away.
Result<bool> is_without_projects(const fs::path& folder) {
  const OpenedRocks rocks = GPUEMU_TRY(open_to_read(folder, Reading::Strict));
  rocksdb::ColumnFamilyHandle* const meta = rocks.handles[static_cast<size_t>(Family::Meta)];
  if (meta == nullptr) return false;
  std::string version;
  const auto got =
      rocks.db->Get(rocksdb::ReadOptions(), meta, std::string(kSchemaVersionKey), &version);
  if (!got.ok() && !got.IsNotFound()) return error_of(got, folder);
  return version == std::to_string(kSchemaWithoutProjects);
}

}  // namespace

Status set_schema_version(Database& database) {
  rocksdb::WriteBatch batch;
  database.put(batch, Family::Meta, kSchemaVersionKey, std::to_string(kSchemaVersion));
  return database.write(batch);
}

Status finish_migration(const fs::path& named) {
  const fs::path folder = real_folder(named), left = unfinished(folder);
  std::error_code failed;
  if (!fs::exists(left, failed)) return ok_status();
  // A copy gets its ledger last: without one it is incomplete.
  if (has_files(left, kLedgerName)) {
    const bool has_database = has_files(folder, "CURRENT") || has_files(folder, kLedgerName);
    if (!has_database) {
      fs::remove(folder, failed);  // It can only be empty.
      return move_folder(left, folder);
    }
    if (GPUEMU_TRY(is_without_projects(left))) return move_folder(left, place_for_old(folder));
  }
  fs::remove_all(left, failed);
  if (!failed) return ok_status();
  return error(ErrorCode::Io, "cannot remove {}, left by a killed migration: {}", left.native(),
               failed.message());
}

Result<std::string> migrate(std::unique_ptr<Database> old, const fs::path& named,
                            const ProjectNames& first) {
  const fs::path folder = real_folder(named), fresh = unfinished(folder);
  const fs::path kept = place_for_old(folder);
  Status built = check_space(folder);
  if (built) built = build(*old, fresh, first);
  old.reset();  // Closing writes its ledger.
  if (!built) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    return built.error();
  }
  GPUEMU_TRY(change_places(fresh, folder, kept));
  return fmt::format("records are now kept per project; the previous database is kept in {}",
                     kept.native());
}

}  // namespace gpuemu::storage
