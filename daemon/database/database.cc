// Writing and reading the open database.
#include "daemon/database/database.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/transaction_log.h>
#include <rocksdb/utilities/checkpoint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/private_path.h"
#include "common/base/unique_fd.h"
#include "common/process/acting_user.h"
#include "daemon/database/batch_effect.h"
#include "daemon/database/check.h"
#include "daemon/database/verify.h"

namespace gpuemu::storage {
namespace {

/// A log that cannot grow crashes RocksDB (7.8 asserts), so nothing is written when the disk is
/// nearly full.
constexpr uint64_t kReserveBytes = uint64_t{32} << 20;

/// What opening writes besides the contents of the logs: a manifest, the options, RocksDB's own
/// log.
constexpr uint64_t kOpenBytes = uint64_t{1} << 20;

rocksdb::Slice slice_of(std::string_view text) { return {text.data(), text.size()}; }

/// Returns the size of the last run's logs; opening writes their contents into tables.
uint64_t bytes_of_logs(const std::filesystem::path& folder) {
  uint64_t bytes = 0;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->path().extension() != ".log") continue;
    const uint64_t size = at->file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

/// Fails if the disk is too full to open: RocksDB 7.8 asserts when a write fails while it opens.
/// Creating and removing a file also detects quotas and limits, which the free space of the disk
/// does not show.
Status check_space_to_open(const std::filesystem::path& folder) {
  const uint64_t bytes = kOpenBytes + bytes_of_logs(folder);
  const std::filesystem::path probe = folder / "space.tmp";
  const UniqueFd file(::open(probe.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  int failed = file ? 0 : errno;
  if (file) {
    failed = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
    ::unlink(probe.c_str());
  }
  if (failed != ENOSPC && failed != EDQUOT && failed != EFBIG) return ok_status();
  return error(ErrorCode::ResourceExhausted,
               "no space for the database {}: {} KiB are needed to open it ({}); nothing was "
               "changed; make room there, or set GPUEMU_DB to a folder on another disk",
               folder.native(), (bytes + 1023) >> 10, std::strerror(failed));
}

/// Returns the first key after all keys with this prefix.
std::string end_of_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(end.back() + 1);
  return end;
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& folder) {
  GPUEMU_TRY(make_private_folder(folder));
  Checked checked = GPUEMU_TRY(check_database(folder));
  GPUEMU_TRY(check_space_to_open(folder));
  if (checked.ledger) {
    checked.ledger->opening = true;
    GPUEMU_TRY(write_ledger(folder, *checked.ledger));
  }
  OpenedRocks rocks = GPUEMU_TRY(open_to_write(folder));
  const RecordCounts counts = checked.counts ? *checked.counts : count_records(rocks, nullptr);
  std::unique_ptr<Database> database(new Database(folder, std::move(rocks)));
  database->note_ = std::move(checked.note);
  struct stat place{};
  if (::stat(folder.c_str(), &place) != 0) {
    return error(ErrorCode::Io, "database {}: {}", folder.native(), std::strerror(errno));
  }
  database->device_ = place.st_dev;
  database->inode_ = place.st_ino;
  GPUEMU_TRY(database->keeper_.start(counts));
  return database;
}

Status Database::write(rocksdb::WriteBatch& batch) {
  const auto written = write_if(batch, nullptr);
  return written ? ok_status() : Status(written.error());
}

Result<bool> Database::write_if(rocksdb::WriteBatch& batch,
                                const std::function<Result<bool>()>& holds) {
  const ActingOwner owner;
  GPUEMU_TRY(check_space(batch.GetDataSize()));
  GPUEMU_TRY(check_place());
  GPUEMU_TRY(keeper_.problem());
  std::optional<LedgerKeeper::Shrinking> shrinking;
  Tried tried = GPUEMU_TRY(try_write(batch, holds, false));
  while (tried == Tried::WouldShrink) {
    shrinking.emplace(keeper_);
    GPUEMU_TRY(shrinking->written);
    tried = GPUEMU_TRY(try_write(batch, holds, true));
  }
  GPUEMU_TRY(check_place());  // Before anybody is told that it is stored.
  return tried == Tried::Written;
}

/// Returns WouldShrink, and writes nothing, if the number of records would fall and that was not
/// announced.
Result<Database::Tried> Database::try_write(rocksdb::WriteBatch& batch,
                                            const std::function<Result<bool>()>& holds,
                                            bool may_shrink) {
  BatchEffect effect(rocks_, batch);
  const WriteGate::Pass pass(gate_, effect.claim());
  if (holds && !GPUEMU_TRY(holds())) return Tried::DoesNotHold;
  const RecordChanges changes = GPUEMU_TRY(effect.changes(folder_));
  const bool shrinks = std::ranges::any_of(changes, [](int64_t change) { return change < 0; });
  if (shrinks && !may_shrink) return Tried::WouldShrink;
  rocksdb::WriteOptions options;
  options.sync = true;
  const auto status = rocks_.db->Write(options, &batch);
  if (!status.ok()) {
    keeper_.freeze();
    return error_of(status, folder_);
  }
  keeper_.add(changes);
  return Tried::Written;
}

bool Database::is_same_folder() const {
  struct stat folder{};
  return ::stat(folder_.c_str(), &folder) == 0 && folder.st_dev == device_ &&
         folder.st_ino == inode_;
}

/// Returns whether the log that was last found in use is in use and lies where it was created.
/// Asking RocksDB which log that is takes as long as checking the file, so the path is cached until
/// RocksDB begins another log.
bool Database::is_known_log() {
  const std::lock_guard lock(place_mutex_);
  struct stat known{};
  return !log_path_.empty() && *rocks_.logs_begun == logs_begun_ &&
         ::stat(log_path_.c_str(), &known) == 0 && known.st_dev == log_device_ &&
         known.st_ino == log_inode_;
}

/// Returns whether the log in use still lies where it was created.
bool Database::is_same_log() {
  const uint64_t logs_begun = *rocks_.logs_begun;
  if (is_known_log()) return true;
  std::unique_ptr<rocksdb::LogFile> current;
  if (!rocks_.db->GetCurrentWalFile(&current).ok()) return false;
  const std::string path = folder_.native() + current->PathName();
  struct stat log{};
  if (::stat(path.c_str(), &log) != 0) return false;
  const std::lock_guard lock(place_mutex_);
  if (log_path_ != path) {
    log_device_ = log.st_dev;
    log_inode_ = log.st_ino;
  }
  log_path_ = path;
  logs_begun_ = logs_begun;
  return log_device_ == log.st_dev && log_inode_ == log.st_ino;
}

/// Fails if the files were deleted: writes to them would succeed, and then be lost with them.
Status Database::check_place() {
  // A log with the known inode at its path shows that the folder is there, too, or another one with
  // links to the same files.
  if (is_known_log()) return ok_status();
  // RocksDB may end a log and delete it between the questions below. What others deleted is still
  // missing when they are asked again.
  constexpr int kTries = 5;
  for (int tried = 0; is_same_folder() && tried < kTries; ++tried) {
    if (tried > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (is_same_log()) return ok_status();
  }
  return gone();
}

Error Database::gone() const {
  return error(ErrorCode::Unavailable,
               "the database {} was deleted or replaced while the daemon ran: nothing is kept or "
               "read any more; put the folder back as it was, or `gpuemu daemon stop`, and the "
               "next daemon begins with what lies there",
               folder_.native());
}

Status Database::check_space(uint64_t bytes) const {
  std::error_code unknown;
  const auto space = std::filesystem::space(folder_, unknown);
  if (unknown || space.available >= kReserveBytes + bytes) return ok_status();
  return error(ErrorCode::ResourceExhausted,
               "no space for the database {}: {} MiB are left on its disk, {} MiB must stay free; "
               "nothing was kept, what is stored can still be read; make room there, or start the "
               "daemon with GPUEMU_DB in another folder",
               folder_.native(), space.available >> 20, kReserveBytes >> 20);
}

Result<std::optional<std::string>> Database::get(Family family, std::string_view key) {
  const ActingOwner owner;
  if (!is_same_folder()) return gone();
  std::string value;
  const auto status = rocks_.db->Get(rocksdb::ReadOptions(), handle(family), slice_of(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return met(status);
  return std::optional(std::move(value));
}

Result<std::vector<std::optional<std::string>>> Database::get_all(
    Family family, const std::vector<std::string>& keys) {
  const ActingOwner owner;
  if (!is_same_folder()) return gone();
  const std::vector<rocksdb::Slice> wanted(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> found(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  rocks_.db->MultiGet(rocksdb::ReadOptions(), handle(family), keys.size(), wanted.data(),
                      found.data(), statuses.data());
  std::vector<std::optional<std::string>> values(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i].IsNotFound()) continue;
    if (!statuses[i].ok()) return met(statuses[i]);
    values[i] = found[i].ToString();
  }
  return values;
}

Status Database::scan(
    Family family, std::string_view prefix,
    const std::function<Result<bool>(std::string_view key, std::string_view value)>& visit) {
  const ActingOwner owner;
  GPUEMU_TRY(check_place());
  const std::unique_ptr<rocksdb::Iterator> at(
      rocks_.db->NewIterator(rocksdb::ReadOptions(), handle(family)));
  for (at->Seek(slice_of(prefix)); at->Valid(); at->Next()) {
    const std::string_view key = at->key().ToStringView();
    if (!key.starts_with(prefix)) break;
    if (!GPUEMU_TRY(visit(key, at->value().ToStringView()))) break;
  }
  return at->status().ok() ? ok_status() : Status(met(at->status()));
}

Status Database::give_back(const std::vector<Family>& families) {
  const ActingOwner owner;
  for (const Family family : families) {
    const auto status =
        rocks_.db->CompactRange(rocksdb::CompactRangeOptions(), handle(family), nullptr, nullptr);
    if (!status.ok()) return error_of(status, folder_);
  }
  return ok_status();
}

Status Database::compact() {
  const ActingOwner owner;
  const auto flushed =
      rocks_.db->Flush(rocksdb::FlushOptions(), {rocks_.handles.begin(), rocks_.handles.end()});
  if (!flushed.ok()) return error_of(flushed, folder_);
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  for (rocksdb::ColumnFamilyHandle* family : rocks_.handles) {
    const auto status = rocks_.db->CompactRange(options, family, nullptr, nullptr);
    if (!status.ok()) return met(status);
  }
  return ok_status();
}

std::string Database::damage() const {
  const std::lock_guard lock(damage_mutex_);
  return damage_;
}

/// Makes the error of a read, and remembers the first one that is damage.
Error Database::met(const rocksdb::Status& status) {
  if (!is_damage(status) || !is_same_folder()) return error_of(status, folder_);
  const std::lock_guard lock(damage_mutex_);
  if (damage_.empty()) {
    // The counts are not a snapshot: the caller may hold a pass of the gate.
    const RecordCounts expected = keeper_.counts();
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    const RecordCounts found = count_records(rocks_, nullptr, options);
    damage_ = damage_error(folder_, text_of(problem_of(status, folder_)), expected,
                           missing(expected, found))
                  .message;
  }
  return Error{ErrorCode::Corruption, damage_};
}

StorageReportReply Database::verify() {
  const ActingOwner owner;
  std::vector<FileProblem> problems = check_files(folder_);
  // Files that changed while they were read, such as a manifest that was replaced, are intact at
  // the second check.
  if (!problems.empty()) problems = check_files(folder_);
  RecordCounts counts{};
  std::unique_ptr<rocksdb::ManagedSnapshot> snapshot;
  {
    const WriteGate::Pass pass(gate_, {.keys = {}, .everything = true});
    counts = keeper_.counts();
    snapshot = std::make_unique<rocksdb::ManagedSnapshot>(rocks_.db.get());
  }
  StorageReportReply report =
      verify_records(rocks_, folder_, snapshot->snapshot(), counts, std::move(problems));
  if (report.state == StorageState::Whole) return report;
  const std::lock_guard lock(damage_mutex_);
  if (damage_.empty()) {
    const FileProblem first = report.files.empty() ? FileProblem() : report.files.front();
    damage_ = damage_error(folder_, text_of(first), counts, lacking(report)).message;
  }
  return report;
}

Result<RecordCounts> Database::checkpoint(const std::filesystem::path& place) {
  const ActingOwner owner;
  GPUEMU_TRY(check_place());
  rocksdb::Checkpoint* made = nullptr;
  auto status = rocksdb::Checkpoint::Create(rocks_.db.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (!status.ok()) return error_of(status, folder_);
  // Nothing is written meanwhile, so the counts are those of the copy.
  const WriteGate::Pass pass(gate_, {.keys = {}, .everything = true});
  const RecordCounts counts = keeper_.counts();
  status = checkpoint->CreateCheckpoint(place.native());
  if (!status.ok()) return error_of(status, folder_);
  return counts;
}

void Database::put(rocksdb::WriteBatch& batch, Family family, std::string_view key,
                   std::string_view value) {
  batch.Put(handle(family), slice_of(key), slice_of(value));
}

void Database::erase(rocksdb::WriteBatch& batch, Family family, std::string_view key) {
  batch.Delete(handle(family), slice_of(key));
}

void Database::erase_all(rocksdb::WriteBatch& batch, Family family, std::string_view prefix) {
  batch.DeleteRange(handle(family), slice_of(prefix), end_of_prefix(prefix));
}

}  // namespace gpuemu::storage
