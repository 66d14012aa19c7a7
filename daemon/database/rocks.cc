// The only file that opens RocksDB.
#include "daemon/database/rocks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace gpuemu::storage {
namespace {

// Together below kReserveBytes of database.cc, so that what was accepted can always be written out.
constexpr size_t kBufferBytes = size_t{8} << 20;
constexpr size_t kAllBuffersBytes = size_t{16} << 20;

/// Takes the messages of a database that is only read: by default they go to a file beside it.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options options() {
  rocksdb::Options options;
  options.keep_log_file_num = 4;
  options.max_open_files = 256;  // Leaves descriptors of the daemon to workers and clients.
  // There are few files: threads and their properties would only delay the start.
  options.max_file_opening_threads = 1;
  options.skip_stats_update_on_db_open = true;
  options.manifest_preallocation_size = size_t{64} << 10;
  options.db_write_buffer_size = kAllBuffersBytes;
  // The default stops at the first damaged record of a log and goes on as if there were no more.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  return options;
}

rocksdb::ColumnFamilyDescriptor family_of(const std::string& name) {
  rocksdb::ColumnFamilyOptions options;
  if (name != rocksdb::kDefaultColumnFamilyName) options.write_buffer_size = kBufferBytes;
  return {name, options};
}

/// REQUIRES: `handles` are those of `families`.
OpenedRocks opened(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  OpenedRocks rocks;
  rocks.db.reset(db);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    const auto* const name =
        std::find(kFamilyNames, kFamilyNames + kFamilyCount, handle->GetName());
    if (name == kFamilyNames + kFamilyCount) {
      db->DestroyColumnFamilyHandle(handle);
    } else {
      rocks.handles[static_cast<size_t>(name - kFamilyNames)] = handle;
    }
  }
  return rocks;
}

/// The disk, a quota or a limit of the process. RocksDB knows the first by its code alone.
bool is_out_of_space(const rocksdb::Status& status, const std::string& text) {
  return status.IsNoSpace() ||
         (status.IsIOError() && (text.find(std::strerror(ENOSPC)) != std::string::npos ||
                                 text.find(std::strerror(EDQUOT)) != std::string::npos ||
                                 text.find(std::strerror(EFBIG)) != std::string::npos));
}

}  // namespace

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

OpenedRocks::~OpenedRocks() {
  if (!db) return;
  for (rocksdb::ColumnFamilyHandle* family : handles) {
    if (family != nullptr) db->DestroyColumnFamilyHandle(family);
  }
}

Result<OpenedRocks> open_to_write(const std::filesystem::path& folder) {
  rocksdb::Options wanted = options();
  wanted.create_if_missing = true;
  wanted.create_missing_column_families = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      family_of(rocksdb::kDefaultColumnFamilyName)};
  for (const char* name : kFamilyNames) families.push_back(family_of(name));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const auto status = rocksdb::DB::Open(wanted, folder.native(), families, &handles, &db);
  if (!status.ok()) return error_of(status, folder);
  return opened(db, handles);
}

Result<OpenedRocks> open_to_read(const std::filesystem::path& folder, Reading reading) {
  rocksdb::Options wanted = options();
  wanted.info_log = std::make_shared<NoLog>();
  if (reading == Reading::Whatever) {
    wanted.paranoid_checks = false;
    wanted.track_and_verify_wals_in_manifest = false;
    wanted.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  }
  std::vector<std::string> names;
  auto status = rocksdb::DB::ListColumnFamilies(wanted, folder.native(), &names);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.push_back(family_of(name));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  if (status.ok()) {
    status = rocksdb::DB::OpenForReadOnly(wanted, folder.native(), families, &handles, &db);
  }
  if (!status.ok()) return error_of(status, folder);
  return opened(db, handles);
}

RecordCounts count_records(const OpenedRocks& rocks, rocksdb::Status* first_problem) {
  RecordCounts counts{};
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    if (rocks.handles[i] == nullptr) continue;
    const std::unique_ptr<rocksdb::Iterator> at(
        rocks.db->NewIterator(rocksdb::ReadOptions(), rocks.handles[i]));
    for (at->SeekToFirst(); at->Valid(); at->Next()) ++counts[i];
    if (first_problem != nullptr && first_problem->ok()) *first_problem = at->status();
  }
  return counts;
}

}  // namespace gpuemu::storage
