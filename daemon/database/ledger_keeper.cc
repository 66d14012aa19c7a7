#include "daemon/database/ledger_keeper.h"

#include <algorithm>
#include <map>
#include <system_error>

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

/// Returns the sizes of the logs in the folder, by name.
std::map<std::string, uint64_t> logs_in(const fs::path& folder) {
  std::map<std::string, uint64_t> logs;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->path().extension() != ".log") continue;
    std::error_code gone;
    const uint64_t bytes = at->file_size(gone);
    if (!gone) logs.emplace(at->path().filename().string(), bytes);
  }
  return logs;
}

}  // namespace

LedgerKeeper::~LedgerKeeper() {
  bool dirty = false;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    dirty = dirty_;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (!dirty) return;
  const Status written = write_now();
  static_cast<void>(written.ok());  // The ledger on disk is older, but still true.
}

Status LedgerKeeper::start(const RecordCounts& counts) {
  counts_ = counts;
  GPUEMU_TRY(write_now());
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return error(ErrorCode::ResourceExhausted, "the system has no thread for the database");
  }
  return ok_status();
}

void LedgerKeeper::add(const RecordChanges& changes) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    counts_[i] += static_cast<uint64_t>(changes[i]);
  }
  if (!dirty_) changed_.notify_all();
  dirty_ = true;
}

void LedgerKeeper::freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
}

Status LedgerKeeper::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void LedgerKeeper::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return dirty_ || ends_; });
    if (ends_) return;
    dirty_ = false;
    lock.unlock();
    Status written = write_now();
    lock.lock();
    if (!written) dirty_ = true;  // To be tried again.
    problem_ = std::move(written);
    changed_.wait_for(lock, kLedgerPeriod, [&] { return ends_; });
  }
}

Status LedgerKeeper::write_now() {
  const std::lock_guard lock(writing_);
  Ledger ledger;
  if (!take_snapshot(ledger)) return ok_status();
  GPUEMU_TRY(extend_files(ledger));
  GPUEMU_TRY(write_ledger(folder_, ledger));
  written_ = std::move(ledger);
  return ok_status();
}

/// Records all that was acknowledged and nothing else: no batch is in progress. The files get their
/// sizes, but not yet their digests. Returns false once the ledger is frozen.
bool LedgerKeeper::take_snapshot(Ledger& ledger) {
  const WriteGate::Pass pass(gate_, {.keys = {}, .everything = true});
  ledger.sequence = db_.GetLatestSequenceNumber();
  for (const auto& [name, bytes] : logs_in(folder_)) {
    ledger.logs.push_back({name, bytes, kEmptyDigest});
  }
  const std::lock_guard lock(mutex_);
  ledger.records = counts_;
  ledger.shrinking = shrinking_ > 0;
  return !frozen_;
}

/// Gives each file the digest of as many bytes as its recorded size; bytes that were digested
/// before are not read again.
Status LedgerKeeper::extend_files(Ledger& ledger) {
  std::vector<std::string> names;
  uint64_t manifest_bytes = 0;
  const auto status = db_.GetLiveFiles(names, &manifest_bytes, false);
  const auto manifest = std::ranges::find_if(
      names, [](const std::string& name) { return name.starts_with("/MANIFEST-"); });
  if (!status.ok() || manifest == names.end()) {
    return error(ErrorCode::Io, "database {}: its manifest is not known: {}", folder_.native(),
                 status.ToString());
  }
  ledger.manifest = {manifest->substr(1), 0, kEmptyDigest};
  if (written_.manifest.name == ledger.manifest.name) ledger.manifest = written_.manifest;
  GPUEMU_TRY(extend(ledger.manifest, folder_, manifest_bytes));
  for (FilePrefix& log : ledger.logs) {
    const uint64_t bytes = log.bytes;
    const auto known = std::ranges::find(written_.logs, log.name, &FilePrefix::name);
    log.bytes = 0;
    if (known != written_.logs.end()) log = *known;
    if (bytes < log.bytes) {
      return error(ErrorCode::Corruption,
                   "database {} is damaged: {}: has {} bytes, {} were written", folder_.native(),
                   log.name, bytes, log.bytes);
    }
    const Status extended = extend(log, folder_, bytes);
    // A log that is gone was no longer needed as listed; otherwise Database::write notices that it
    // is missing.
    if (!extended && extended.error().code != ErrorCode::NotFound) return extended;
  }
  std::erase_if(ledger.logs, [](const FilePrefix& log) { return log.bytes == 0; });
  return ok_status();
}

}  // namespace gpuemu::storage
