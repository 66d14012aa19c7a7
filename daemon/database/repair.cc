// Copies every readable record to a new database and rebuilds its index. Records that RocksDB
// cannot reach, because it no longer knows its tables or cannot open one of them, are searched for
// table by table.
#include "daemon/database/repair.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <unordered_map>

#include <rocksdb/write_batch.h>

#include "daemon/database/check.h"
#include "daemon/database/database.h"
#include "daemon/database/replace.h"
#include "daemon/database/rocks.h"
#include "daemon/database/salvage.h"
#include "daemon/database/verify.h"
#include "daemon/records/keys.h"
#include "daemon/records/values.h"

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBatchBytes = size_t{1} << 20;

constexpr size_t number_of(Family family) { return static_cast<size_t>(family); }

/// The records that the index names, with their stamps: an older record has been replaced, and one
/// without an entry has been deleted.
class Named {
 public:
  void learn(std::string_view whole, std::string_view record) {
    const auto [prefix, key] = split_key(whole);
    if (!key.starts_with("rt:") && !key.starts_with("ft:")) return;
    const std::string_view digits = key.substr(3);
    uint64_t number = 0;
    const auto [end, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failed != std::errc() || end != digits.data() + digits.size()) return;
    uint64_t& stamp = stamps_[name_of_record(key[0], prefix, record)];
    stamp = std::max(stamp, ~number);
  }

  /// Returns whether the record may be the last version stored. `all` means that all index entries
  /// are known.
  bool allows(Family family, std::string_view whole, std::string_view value, bool all) const {
    if (family != Family::Results && family != Family::Failures) return true;
    const auto [prefix, key] = split_key(whole);
    const char letter = family == Family::Results ? 'r' : 'f';
    const auto known = stamps_.find(name_of_record(letter, prefix, key));
    if (known == stamps_.end()) return !all;
    const auto stamp = stamp_of(value);
    return stamp && *stamp >= known->second;
  }

 private:
  static std::string name_of_record(char letter, std::string_view prefix, std::string_view key) {
    return fmt::format("{}{}{}", letter, prefix, key);
  }

  std::unordered_map<std::string, uint64_t> stamps_;
};

/// The new database that records are copied to.
class Copy {
 public:
  Copy(OpenedRocks& to, const fs::path& folder) : to_(to), folder_(folder) {}

  /// Adds a record if it is as it was stored; leaves it out otherwise.
  Status put(Family family, std::string_view whole, std::string_view value) {
    const auto [prefix, key] = split_key(whole);
    if (!is_readable(family, key, value)) return ok_status();
    add(family, whole, value);
    if (number_of(family) < kCountedFamilies) ++counts_[number_of(family)];
    GPUEMU_TRY(put_index(family, prefix, key, value));
    return batch_.GetDataSize() < kBatchBytes ? ok_status() : write();
  }

  Result<bool> has(Family family, std::string_view whole) {
    GPUEMU_TRY(write());
    std::string value;
    const auto got = to_.db->Get(rocksdb::ReadOptions(), to_.handles[number_of(family)],
                                 rocksdb::Slice(whole.data(), whole.size()), &value);
    if (got.ok() || got.IsNotFound()) return got.ok();
    return error_of(got, folder_);
  }

  Status end() {
    if (!GPUEMU_TRY(has(Family::Meta, kSchemaVersionKey))) {
      add(Family::Meta, kSchemaVersionKey, std::to_string(kSchemaVersion));
      GPUEMU_TRY(write());
    }
    for (rocksdb::ColumnFamilyHandle* family : to_.handles) {
      const auto flushed = to_.db->Flush(rocksdb::FlushOptions(), family);
      if (!flushed.ok()) return error_of(flushed, folder_);
    }
    return ok_status();
  }
  const RecordCounts& counts() const { return counts_; }

 private:
  void add(Family family, std::string_view key, std::string_view value) {
    batch_.Put(to_.handles[number_of(family)], rocksdb::Slice(key.data(), key.size()),
               rocksdb::Slice(value.data(), value.size()));
  }

  Status put_index(Family family, std::string_view prefix, std::string_view key,
                   std::string_view value) {
    const bool is_result = family == Family::Results;
    if (!is_result && family != Family::Failures) return ok_status();
    const uint64_t stamp = GPUEMU_TRY(stamp_of(value));
    const auto failure = parse_failure_key(key);
    const uint64_t seed = is_result ? seed_of_result_key(key).value_or(0) : failure->seed;
    const char letter = is_result ? 'r' : 'f';
    add(Family::Index, std::string(prefix) + time_key(letter, stamp), key);
    add(Family::Index, std::string(prefix) + seed_key(letter, seed, stamp), key);
    return ok_status();
  }

  Status write() {
    rocksdb::WriteOptions options;
    options.disableWAL = true;  // end() flushes all of it.
    const auto written = to_.db->Write(options, &batch_);
    batch_.Clear();
    return written.ok() ? ok_status() : Status(error_of(written, folder_));
  }

  OpenedRocks& to_;
  const fs::path& folder_;
  rocksdb::WriteBatch batch_;
  RecordCounts counts_{};
};

/// Finds the records of a damaged database.
class Salvage {
 public:
  Salvage(const fs::path& folder, Copy& copy) : folder_(folder), copy_(copy) {}

  /// `knows_tables`: RocksDB's list of its tables is intact.
  Status run(bool knows_tables) {
    if (knows_tables) {
      if (const auto rocks = open_to_read(folder_, Reading::Whatever)) {
        GPUEMU_TRY(take(*rocks, false));
        index_is_whole_ = complete_[number_of(Family::Index)];
      }
    }
    if (std::ranges::all_of(complete_, [](bool one) { return one; })) return ok_status();
    const fs::path tables = folder_.native() + kTablesSuffix;
    std::error_code ignored;
    fs::remove_all(tables, ignored);
    const Status taken = take_from_tables(tables);
    fs::remove_all(tables, ignored);
    return taken;
  }

 private:
  Status take_from_tables(const fs::path& tables) {
    GPUEMU_TRY(gather_tables(folder_, tables));
    const OpenedRocks rocks = GPUEMU_TRY(open_to_read(tables, Reading::Whatever));
    return take(rocks, true);
  }

  /// Takes the families that are not complete. `if_absent`: records that are known already are
  /// newer.
  Status take(const OpenedRocks& rocks, bool if_absent) {
    GPUEMU_TRY(take(rocks, Family::Index, if_absent));
    for (size_t i = 0; i < kFamilyCount; ++i) {
      const auto family = static_cast<Family>(i);
      if (family != Family::Index) GPUEMU_TRY(take(rocks, family, if_absent));
    }
    return ok_status();
  }

  Status take(const OpenedRocks& rocks, Family family, bool if_absent) {
    bool& complete = complete_[number_of(family)];
    rocksdb::ColumnFamilyHandle* const handle = rocks.handles[number_of(family)];
    if (complete || handle == nullptr) return ok_status();
    Status status = ok_status();
    const auto visit = [&](std::string_view key, std::string_view value) {
      if (status) status = take(family, key, value, if_absent);
    };
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    complete = read_all(*rocks.db, options, handle, visit).to_the_end;
    return status;
  }

  Status take(Family family, std::string_view key, std::string_view value, bool if_absent) {
    if (key.empty()) return ok_status();  // See gather_tables().
    if (family == Family::Index) {
      named_.learn(key, value);
      return ok_status();
    }
    if (!if_absent) return copy_.put(family, key, value);
    if (!named_.allows(family, key, value, index_is_whole_)) return ok_status();
    if (GPUEMU_TRY(copy_.has(family, key))) return ok_status();
    return copy_.put(family, key, value);
  }

  const fs::path& folder_;
  Copy& copy_;
  Named named_;
  std::array<bool, kFamilyCount> complete_{};
  bool index_is_whole_ = false;  ///< No entry is missing, as far as RocksDB knows its tables.
};

Result<RecordCounts> rebuild(const fs::path& folder, const fs::path& fresh,
                             const StorageReportReply& found) {
  RecordCounts kept{};
  {
    OpenedRocks rocks = GPUEMU_TRY(open_to_write(fresh));
    Copy copy(rocks, fresh);
    GPUEMU_TRY(Salvage(folder, copy).run(knows_tables(found.files)));
    GPUEMU_TRY(copy.end());
    kept = copy.counts();
  }
  const auto database = GPUEMU_TRY(Database::open(fresh));  // Opening creates its ledger.
  const StorageReportReply report = database->verify();
  if (report.state == StorageState::Whole && report.readable == by_kind(kept)) return kept;
  return error(ErrorCode::Internal, "what was saved of {} is not whole; please report this",
               folder.native());
}

}  // namespace

Result<StorageReportReply> repair(const fs::path& folder, StorageReportReply found, bool dry_run) {
  GPUEMU_TRY(finish_replacing(folder));
  const fs::path fresh = replacement_of(folder);
  const auto kept = rebuild(folder, fresh, found);
  std::error_code ignored;
  if (!kept || dry_run) fs::remove_all(fresh, ignored);
  if (!kept) return kept.error();
  found.readable = by_kind(*kept);
  found.lost = 0;
  for (auto& [kind, count] : found.expected) {
    count = std::max(count, found.readable[kind]);  // A damaged ledger does not give the count.
    found.lost += count - found.readable[kind];
  }
  if (dry_run) return found;
  const fs::path place = place_to_keep(folder, "damaged");
  GPUEMU_TRY(replace_folder(folder, place));
  found.state = StorageState::Repaired;
  found.kept_as = place.native();
  return found;
}

}  // namespace gpuemu::storage
