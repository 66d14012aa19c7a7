#include "daemon/database/verify.h"

#include <algorithm>

#include <rocksdb/sst_file_reader.h>

#include "common/base/text.h"
#include "daemon/database/salvage.h"
#include "daemon/records/keys.h"
#include "daemon/records/values.h"

namespace gpuemu::storage {
namespace {

/// Sums up, over all kinds, the records that are expected and cannot be read.
void judge(StorageReportReply& report) {
  for (const auto& [kind, count] : report.expected) {
    report.lost += count - std::min(count, report.readable[kind]);
  }
  const bool damaged = report.lost > 0 || !report.files.empty();
  report.state = damaged ? StorageState::Damaged : StorageState::Whole;
}

class Verifier {
 public:
  Verifier(const OpenedRocks& rocks, const std::filesystem::path& folder,
           const rocksdb::Snapshot* snapshot, std::vector<FileProblem>& problems)
      : rocks_(rocks), folder_(folder), problems_(problems) {
    options_.snapshot = snapshot;
    options_.fill_cache = false;
  }

  void read_tables() {
    std::vector<rocksdb::LiveFileMetaData> tables;
    rocks_.db->GetLiveFilesMetaData(&tables);
    for (const rocksdb::LiveFileMetaData& table : tables) {
      const std::string name = table.relative_filename;
      rocksdb::SstFileReader reader{rocksdb::Options()};
      auto status = reader.Open((folder_ / name).native());
      if (status.ok()) status = reader.VerifyChecksum(rocksdb::ReadOptions());
      // A compaction may have replaced the table since it was listed.
      if (!status.ok() && is_live(table.name)) add(name, problem_of(status, folder_).problem);
    }
  }

  RecordCounts read_records() {
    RecordCounts readable{};
    for (size_t i = 0; i < kFamilyCount; ++i) {
      const auto family = static_cast<Family>(i);
      uint64_t damaged = 0, unlisted = 0;
      const uint64_t found = read(family, damaged, unlisted);
      if (i < kCountedFamilies) readable[i] = found;
      if (damaged > 0) {
        add(kFamilyNames[i],
            counted(damaged, "record") + (damaged == 1 ? " is damaged" : " are damaged"));
      }
      if (unlisted > 0) {
        add(kFamilyNames[static_cast<size_t>(Family::Index)],
            unlisted == 1 ? fmt::format("1 entry of {} is missing", kFamilyNames[i])
                          : fmt::format("{} entries of {} are missing", unlisted, kFamilyNames[i]));
      }
    }
    return readable;
  }

 private:
  void add(std::string name, std::string problem) {
    problems_.push_back({std::move(name), std::move(problem)});
  }

  /// Adds the problem unless one of its file is reported already.
  void add_problem(Family family, const rocksdb::Status& status) {
    FileProblem problem = problem_of(status, folder_);
    if (problem.name.empty()) problem.name = kFamilyNames[static_cast<size_t>(family)];
    const auto told = std::ranges::find(problems_, problem.name, &FileProblem::name);
    if (told == problems_.end()) problems_.push_back(std::move(problem));
  }

  bool is_live(const std::string& name) const {
    std::vector<rocksdb::LiveFileMetaData> tables;
    rocks_.db->GetLiveFilesMetaData(&tables);
    return std::ranges::any_of(tables, [&](const auto& one) { return one.name == name; });
  }

  /// Returns how many records of the family can be read.
  uint64_t read(Family family, uint64_t& damaged, uint64_t& unlisted) {
    rocksdb::ColumnFamilyHandle* const handle = rocks_.handles[static_cast<size_t>(family)];
    if (handle == nullptr) return 0;
    uint64_t readable = 0;
    const auto visit = [&](std::string_view whole, std::string_view value) {
      const auto [prefix, key] = split_key(whole);
      if (!is_readable(family, key, value)) {
        ++damaged;
        return;
      }
      ++readable;
      unlisted += missing_entries(family, prefix, key, value);
    };
    const Salvaged found = read_all(*rocks_.db, options_, handle, visit);
    if (!found.problem.ok()) add_problem(family, found.problem);
    return readable;
  }

  /// Returns how many index entries a result or failure lacks.
  uint64_t missing_entries(Family family, std::string_view prefix, std::string_view key,
                           std::string_view value) {
    if (family != Family::Results && family != Family::Failures) return 0;
    const auto stamp = stamp_of(value);
    const auto failure = parse_failure_key(key);
    const auto seed = family == Family::Results
                          ? seed_of_result_key(key)
                          : (failure ? std::optional(failure->seed) : std::nullopt);
    if (!stamp || !seed) return 0;
    const char letter = family == Family::Results ? 'r' : 'f';
    return (names(prefix, time_key(letter, *stamp), key) ? 0 : 1) +
           (names(prefix, seed_key(letter, *seed, *stamp), key) ? 0 : 1);
  }

  bool names(std::string_view prefix, const std::string& entry, std::string_view record) {
    rocksdb::ColumnFamilyHandle* const index = rocks_.handles[static_cast<size_t>(Family::Index)];
    if (index == nullptr) return false;
    rocksdb::PinnableSlice value;
    const auto got = rocks_.db->Get(options_, index, std::string(prefix) + entry, &value);
    return got.ok() && value.ToStringView() == record;
  }

  const OpenedRocks& rocks_;
  const std::filesystem::path& folder_;
  std::vector<FileProblem>& problems_;
  rocksdb::ReadOptions options_;
};

}  // namespace

std::pair<std::string_view, std::string_view> split_key(std::string_view whole) {
  const size_t slash = whole.find('/');
  const size_t prefix = slash == std::string_view::npos ? 0 : slash + 1;
  return {whole.substr(0, prefix), whole.substr(prefix)};
}

bool is_readable(Family family, std::string_view key, std::string_view value) {
  switch (family) {
    case Family::Results:
      return seed_of_result_key(key) && decode_result(value);
    case Family::Failures:
      return parse_failure_key(key) && decode_result(value);
    case Family::Artifacts:
      return static_cast<bool>(decode_artifact(value));
    case Family::Baselines:
    case Family::ArtifactBaselines: {
      const auto tag = owner_of(key);
      if (!tag) return false;
      if (key.size() == owner_prefix(*tag).size()) return value == *tag;
      return family == Family::Baselines ? static_cast<bool>(decode_result(value))
                                         : static_cast<bool>(decode_artifact(value));
    }
    default:
      return true;
  }
}

std::map<std::string, uint64_t> by_kind(const RecordCounts& counts) {
  std::map<std::string, uint64_t> kinds;
  for (size_t i = 0; i < kCountedFamilies; ++i) kinds[kFamilyNames[i]] = counts[i];
  return kinds;
}

StorageReportReply verify_records(const OpenedRocks& rocks, const std::filesystem::path& folder,
                                  const rocksdb::Snapshot* snapshot,
                                  const std::optional<RecordCounts>& expected,
                                  std::vector<FileProblem> problems) {
  StorageReportReply report;
  Verifier verifier(rocks, folder, snapshot, problems);
  verifier.read_tables();
  const RecordCounts readable = verifier.read_records();
  report.readable = by_kind(readable);
  report.expected = by_kind(expected.value_or(readable));
  report.files = std::move(problems);
  judge(report);
  return report;
}

StorageReportReply unopened_report(const std::optional<RecordCounts>& expected,
                                   const RecordCounts& readable,
                                   std::vector<FileProblem> problems) {
  StorageReportReply report;
  report.expected = by_kind(expected.value_or(readable));
  report.readable = by_kind(readable);
  report.files = std::move(problems);
  judge(report);
  return report;
}

RecordCounts lacking(const StorageReportReply& report) {
  RecordCounts counts{};
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    const auto expected = report.expected.find(kFamilyNames[i]);
    const auto readable = report.readable.find(kFamilyNames[i]);
    if (expected == report.expected.end() || readable == report.readable.end()) continue;
    counts[i] = expected->second - std::min(expected->second, readable->second);
  }
  return counts;
}

}  // namespace gpuemu::storage
