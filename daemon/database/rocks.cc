// The only file that opens RocksDB.
#include "daemon/database/rocks.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>
#include <rocksdb/unique_id.h>

#include "common/base/private_path.h"
#include "daemon/database/log_content.h"
#include "daemon/database/salvage.h"

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

// Their sum stays below kReserveBytes of database.cc, so that accepted writes can always be written
// out.
constexpr size_t kBufferBytes = size_t{8} << 20;
constexpr size_t kAllBuffersBytes = size_t{16} << 20;
// Bloom filters of keys: the share of a buffer, which holds 20,000 results, and the bits per key of
// a table.
constexpr double kFilterShare = 0.01, kFilterBitsPerKey = 10;

/// Discards the messages of a database that is only read: by default they go to a file beside it.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

/// Counts the events that end the use of a log.
class LogCounter : public rocksdb::EventListener {
 public:
  explicit LogCounter(std::shared_ptr<std::atomic<uint64_t>> begun) : begun_(std::move(begun)) {}
  void OnMemTableSealed(const rocksdb::MemTableInfo&) override { ++*begun_; }

 private:
  const std::shared_ptr<std::atomic<uint64_t>> begun_;
};

rocksdb::Options options() {
  rocksdb::Options options;
  options.keep_log_file_num = 4;
  options.max_open_files = 256;  // Leaves file descriptors of the daemon to workers and clients.
  // There are few files: threads and file statistics would only delay the start.
  options.max_file_opening_threads = 1;
  options.skip_stats_update_on_db_open = true;
  options.manifest_preallocation_size = size_t{64} << 10;
  options.db_write_buffer_size = kAllBuffersBytes;
  // The default stops at the first damaged record of a log and continues as if there were no more.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  return options;
}

rocksdb::ColumnFamilyDescriptor family_of(const std::string& name) {
  rocksdb::ColumnFamilyOptions options;
  if (name == rocksdb::kDefaultColumnFamilyName) return {name, options};
  options.write_buffer_size = kBufferBytes;
  // Each key is looked up before its record is written, and most are new: filters find that out
  // without a search.
  options.memtable_whole_key_filtering = true;
  options.memtable_prefix_bloom_size_ratio = kFilterShare;
  rocksdb::BlockBasedTableOptions tables;
  tables.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(tables));
  return {name, options};
}

std::vector<rocksdb::ColumnFamilyDescriptor> all_families() {
  std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      family_of(rocksdb::kDefaultColumnFamilyName)};
  for (const char* name : kFamilyNames) families.push_back(family_of(name));
  return families;
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

/// Returns whether the disk, a quota or a limit of the process is exhausted. RocksDB recognizes
/// only the first by its code.
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

FileProblem problem_of(const rocksdb::Status& status, const fs::path& folder) {
  FileProblem problem{"", status.ToString()};
  std::ranges::replace(problem.problem, '\n', ' ');
  while (problem.problem.ends_with(' ')) problem.problem.pop_back();
  const std::string path = folder.native() + "/";
  const size_t at = problem.problem.find(path);
  if (at == std::string::npos) return problem;
  problem.problem.erase(at, path.size());
  const size_t end = problem.problem.find_first_of(" :,", at);
  problem.name = problem.problem.substr(at, end - at);
  while (problem.name.ends_with('.')) problem.name.pop_back();
  return problem;
}

bool is_damage(const rocksdb::Status& status) {
  return status.IsCorruption() ||
         (status.IsIOError() && (status.IsPathNotFound() || status.ToString().find(std::strerror(
                                                                ENOENT)) != std::string::npos));
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
  const auto logs_begun = std::make_shared<std::atomic<uint64_t>>(0);
  wanted.listeners.push_back(std::make_shared<LogCounter>(logs_begun));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const auto status = rocksdb::DB::Open(wanted, folder.native(), all_families(), &handles, &db);
  if (!status.ok()) return error_of(status, folder);
  OpenedRocks rocks = opened(db, handles);
  rocks.logs_begun = logs_begun;
  return rocks;
}

Result<OpenedRocks> open_to_read(const std::filesystem::path& folder, Reading reading) {
  if (const std::string log = unreadable_log(folder); !log.empty()) {
    return error(ErrorCode::Corruption,
                 "database {} is damaged: {} holds something else than changes to records, or a "
                 "damaged record",
                 folder.native(), log);
  }
  rocksdb::Options wanted = options();
  wanted.info_log = std::make_shared<NoLog>();
  if (reading == Reading::Whatever) {
    wanted.paranoid_checks = false;
    // Logs stay tracked: RocksDB 7.8 asserts when it only reads a manifest that names logs without.
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

namespace {

/// Returns the number in "000012.sst"; 0 for other names.
uint64_t number_of_file(const fs::path& file) {
  const std::string stem = file.stem().string();
  uint64_t number = 0;
  std::from_chars(stem.data(), stem.data() + stem.size(), number);
  return number;
}

/// RocksDB finds families by their tables, and ignores what a log holds of a family without one. So
/// this adds a table with an empty key for each family that has none, provided that families have
/// the ids that a new database gives them.
Status add_tables_of_families(const fs::path& scratch) {
  std::set<std::string> found;
  uint64_t last = 0;
  std::error_code ignored;
  for (const fs::directory_entry& file : fs::directory_iterator(scratch, ignored)) {
    last = std::max(last, number_of_file(file.path()));
    rocksdb::SstFileReader reader{rocksdb::Options()};
    if (file.path().extension() != ".sst" || !reader.Open(file.path().native()).ok()) continue;
    const auto properties = reader.GetTableProperties();
    const std::string& name = properties->column_family_name;
    const auto* const known = std::find(kFamilyNames, kFamilyNames + kFamilyCount, name);
    if (known == kFamilyNames + kFamilyCount) continue;
    const auto expected = static_cast<uint64_t>(known - kFamilyNames) + 1;
    if (properties->column_family_id != expected) return ok_status();
    found.insert(name);
  }
  const fs::path fresh = scratch / "families";
  {
    const OpenedRocks rocks = GPUEMU_TRY(open_to_write(fresh));
    for (size_t i = 0; i < kFamilyCount; ++i) {
      if (found.contains(kFamilyNames[i])) continue;
      auto status = rocks.db->Put(rocksdb::WriteOptions(), rocks.handles[i], "", "");
      if (status.ok()) status = rocks.db->Flush(rocksdb::FlushOptions(), rocks.handles[i]);
      if (!status.ok()) return error_of(status, fresh);
    }
  }
  for (const fs::directory_entry& file : fs::directory_iterator(fresh, ignored)) {
    if (file.path().extension() != ".sst") continue;
    fs::rename(file.path(), scratch / fmt::format("{:06}.sst", ++last), ignored);
  }
  fs::remove_all(fresh, ignored);
  return ok_status();
}

/// Files, which nobody changes, appear in `scratch` too.
Status link_files(const std::vector<fs::path>& files, const fs::path& scratch) {
  std::error_code failed;
  for (const fs::path& file : files) {
    fs::create_hard_link(file, scratch / file.filename(), failed);
    if (failed) fs::copy_file(file, scratch / file.filename(), failed);
    if (failed) {
      return error(ErrorCode::Io, "cannot write {}: {}", scratch.native(), failed.message());
    }
  }
  return ok_status();
}

std::vector<fs::path> files_of(const fs::path& folder, const char* extension) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->path().extension() == extension) files.push_back(at->path());
  }
  std::ranges::sort(files);
  return files;
}

/// Returns the tables, without the second of two that are the same under different names: RocksDB
/// opens no database with both.
std::vector<fs::path> different_tables(const fs::path& folder) {
  std::vector<fs::path> tables;
  std::set<std::string> seen;
  for (const fs::path& file : files_of(folder, ".sst")) {
    rocksdb::SstFileReader reader{rocksdb::Options()};
    std::string id;
    const bool is_known =
        reader.Open(file.native()).ok() &&
        rocksdb::GetUniqueIdFromTableProperties(*reader.GetTableProperties(), &id).ok();
    if (!is_known || seen.insert(id).second) tables.push_back(file);
  }
  return tables;
}

/// Logs without changes to records are left out.
Status put_logs(const fs::path& folder, const fs::path& scratch) {
  std::vector<fs::path> logs;
  for (const fs::path& file : files_of(folder, ".log")) {
    const LogContent content = content_of_log(file);
    if (content == LogContent::Readable) logs.push_back(file);
    if (content == LogContent::Endless) {
      GPUEMU_TRY(copy_readable(file, scratch / file.filename()));
    }
  }
  return link_files(logs, scratch);
}

/// What becomes of logs: read by whoever opens the database, or tables of their own.
enum class Logs { Read, Tables };

Status gather(const fs::path& folder, const fs::path& scratch, Logs logs) {
  GPUEMU_TRY(make_private_folder(scratch));
  GPUEMU_TRY(link_files(different_tables(folder), scratch));
  if (logs == Logs::Tables) GPUEMU_TRY(put_logs(folder, scratch));
  GPUEMU_TRY(add_tables_of_families(scratch));
  rocksdb::Options wanted = options();
  wanted.info_log = std::make_shared<NoLog>();
  const auto status =
      rocksdb::RepairDB(scratch.native(), wanted, all_families(), family_of("").options);
  if (!status.ok()) return error_of(status, folder);
  return logs == Logs::Read ? put_logs(folder, scratch) : ok_status();
}

}  // namespace

Status gather_tables(const fs::path& folder, const fs::path& scratch) {
  // RocksDB opens no database with a table whose changes lie among those of another, as one of a
  // log does that outlives the tables which some of it went to.
  GPUEMU_TRY(gather(folder, scratch, Logs::Read));
  if (open_to_read(scratch, Reading::Whatever)) return ok_status();
  // It gives up a log that lacks a part of a long record; RepairDB takes the rest of it.
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  return gather(folder, scratch, Logs::Tables);
}

std::optional<FileProblem> unreadable_table(const fs::path& folder) {
  for (const fs::path& file : files_of(folder, ".sst")) {
    rocksdb::SstFileReader reader{rocksdb::Options()};
    const auto status = reader.Open(file.native());
    if (status.ok()) continue;
    return FileProblem{file.filename().string(), problem_of(status, folder).problem};
  }
  return std::nullopt;
}

RecordCounts count_records(const OpenedRocks& rocks, rocksdb::Status* first_problem,
                           const rocksdb::ReadOptions& options) {
  RecordCounts counts{};
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    if (rocks.handles[i] == nullptr) continue;
    const Salvaged found =
        read_all(*rocks.db, options, rocks.handles[i], [&](std::string_view key, std::string_view) {
          if (!key.empty()) ++counts[i];  // See gather_tables().
        });
    if (first_problem != nullptr && first_problem->ok()) *first_problem = found.problem;
  }
  return counts;
}

}  // namespace gpuemu::storage
