// The only file that opens RocksDB and reads its statuses.
#include "daemon/storage/database.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <rocksdb/options.h>
#include <unistd.h>

#include "common/base/unique_fd.h"

namespace gpuemu::storage {
namespace {

// In the order of Family.
constexpr const char* kFamilyNames[kFamilyCount] = {
    "results", "failures", "baselines", "artifacts", "artifact_baselines",
    "corpus",  "meta",     "index"};

// Together below kReserveBytes, so that what was accepted can always be written out.
constexpr size_t kBufferBytes = size_t{8} << 20;
constexpr size_t kAllBuffersBytes = size_t{16} << 20;
/// A log that cannot grow takes RocksDB down (7.8 asserts): nothing is written close to a full
/// disk.
constexpr uint64_t kReserveBytes = uint64_t{32} << 20;

/// What opening writes beside the contents of the logs: a manifest, the options, its own log.
constexpr uint64_t kOpenBytes = uint64_t{1} << 20;

rocksdb::Slice slice_of(std::string_view text) { return {text.data(), text.size()}; }

/// The disk, a quota or a limit of the process. RocksDB knows the first by its code alone.
bool is_out_of_space(const rocksdb::Status& status, const std::string& text) {
  return status.IsNoSpace() ||
         (status.IsIOError() && (text.find(std::strerror(ENOSPC)) != std::string::npos ||
                                 text.find(std::strerror(EDQUOT)) != std::string::npos ||
                                 text.find(std::strerror(EFBIG)) != std::string::npos));
}

/// RocksDB's statuses become errors here and nowhere else.
Error error_of(const rocksdb::Status& status, const std::filesystem::path& folder) {
  const std::string text = status.ToString();
  if (is_out_of_space(status, text)) {
    return error(ErrorCode::ResourceExhausted,
                 "no space left for the database {} ({}): nothing was kept, what is stored can "
                 "still be read; make room there and restart the daemon",
                 folder.native(), text);
  }
  if (status.IsIOError() && text.find("LOCK") != std::string::npos &&
      text.find("ermission") == std::string::npos) {
    return error(ErrorCode::Unavailable,
                 "database {} is in use by another daemon; stop that one or "
                 "choose another storage folder ({})",
                 folder.native(), text);
  }
  if (status.IsCorruption()) {
    return error(ErrorCode::Corruption, "database {} is damaged: {}", folder.native(), text);
  }
  if (status.IsIOError()) {
    return error(ErrorCode::Io, "database {}: {}", folder.native(), text);
  }
  return error(ErrorCode::Internal, "database {}: {}", folder.native(), text);
}

/// The logs of the last run; opening writes what they hold into tables.
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

/// RocksDB 7.8 asserts when a write fails while it opens. A file that is made and removed knows of
/// quotas and limits too, which the free space of the disk does not tell.
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

/// The first key that no key with this prefix reaches.
std::string end_of_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(end.back() + 1);
  return end;
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    return error(ErrorCode::Io, "cannot make the database folder {}: {}", folder.native(),
                 failure.message());
  }
  GPUEMU_TRY(check_space_to_open(folder));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.keep_log_file_num = 4;
  options.max_open_files = 256;  // Of the daemon's descriptors; workers and clients need theirs.
  // There are few files: threads and their properties would only delay the start.
  options.max_file_opening_threads = 1;
  options.skip_stats_update_on_db_open = true;
  options.manifest_preallocation_size = size_t{64} << 10;
  options.db_write_buffer_size = kAllBuffersBytes;
  std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions()}};
  rocksdb::ColumnFamilyOptions family_options;
  family_options.write_buffer_size = kBufferBytes;
  for (const char* name : kFamilyNames) families.emplace_back(name, family_options);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(options, folder.native(), families, &handles, &opened);
  if (!status.ok()) return error_of(status, folder);
  std::unique_ptr<Database> database(new Database());
  database->folder_ = folder;
  database->db_.reset(opened);
  opened->DestroyColumnFamilyHandle(handles[0]);
  std::copy(handles.begin() + 1, handles.end(), database->handles_.begin());
  return database;
}

Database::~Database() {
  for (auto* family : handles_) {
    if (family != nullptr) db_->DestroyColumnFamilyHandle(family);
  }
}

Status Database::write(rocksdb::WriteBatch& batch) {
  GPUEMU_TRY(check_space(batch.GetDataSize()));
  rocksdb::WriteOptions options;
  options.sync = true;
  const auto status = db_->Write(options, &batch);
  return status.ok() ? ok_status() : Status(error_of(status, folder_));
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
  std::string value;
  const auto status = db_->Get(rocksdb::ReadOptions(), handle(family), slice_of(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return error_of(status, folder_);
  return std::optional(std::move(value));
}

Status Database::scan(
    Family family, std::string_view prefix,
    const std::function<Result<bool>(std::string_view key, std::string_view value)>& visit) {
  const std::unique_ptr<rocksdb::Iterator> at(
      db_->NewIterator(rocksdb::ReadOptions(), handle(family)));
  for (at->Seek(slice_of(prefix)); at->Valid(); at->Next()) {
    const std::string_view key = at->key().ToStringView();
    if (!key.starts_with(prefix)) break;
    if (!GPUEMU_TRY(visit(key, at->value().ToStringView()))) break;
  }
  return at->status().ok() ? ok_status() : Status(error_of(at->status(), folder_));
}

Status Database::give_back(const std::vector<Family>& families) {
  for (const Family family : families) {
    const auto status =
        db_->CompactRange(rocksdb::CompactRangeOptions(), handle(family), nullptr, nullptr);
    if (!status.ok()) return error_of(status, folder_);
  }
  return ok_status();
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
