// Checks the bytes of the files that the ledger lists first, then what RocksDB reads from them.
#include "daemon/database/check.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <numeric>

#include "common/base/files.h"
#include "daemon/database/rocks.h"
#include "daemon/database/verify.h"

namespace gpuemu::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRemedy =
    "gpuemu storage repair keeps the rest, gpuemu storage restore puts a backup in place";

uint64_t sum(const RecordCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

std::string kinds_of(const RecordCounts& counts) {
  std::string text;
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kFamilyNames[i], counts[i]);
  }
  return text;
}

/// Whether RocksDB knows which files belong to the database.
enum class Manifest { Whole, Damaged };

/// Returns what a repair would find if RocksDB does not open the folder: everything in its files.
RecordCounts count_in_tables(const fs::path& folder) {
  const fs::path scratch = folder.native() + kTablesSuffix;
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  RecordCounts found{};
  if (gather_tables(folder, scratch)) {
    if (const auto rocks = open_to_read(scratch, Reading::Whatever)) {
      found = count_records(*rocks, nullptr);
    }
  }
  fs::remove_all(scratch, ignored);
  return found;
}

/// Returns how many records of a damaged database can be read. Without a manifest it is unknown
/// which files belong to it, so none can be read before a repair.
RecordCounts count_readable(const fs::path& folder, Manifest manifest) {
  if (manifest == Manifest::Damaged) return {};
  const auto rocks = open_to_read(folder, Reading::Whatever);
  return rocks ? count_records(*rocks, nullptr) : count_in_tables(folder);
}

/// Makes the error for a damaged database. `problem` may come from error_of().
Error damaged(const fs::path& folder, const Ledger& ledger, std::string problem,
              Manifest manifest = Manifest::Whole) {
  const std::string said = fmt::format("database {} is damaged: ", folder.native());
  if (problem.starts_with(said)) problem.erase(0, said.size());
  const RecordCounts found = count_readable(folder, manifest);
  return damage_error(folder, problem, ledger.records, missing(ledger.records, found));
}

/// Makes the error for a database whose ledger is gone: the number of records is unknown.
Error damaged_without_ledger(const fs::path& folder, std::string problem, const std::string& why) {
  const std::string said = fmt::format("database {} is damaged: ", folder.native());
  if (problem.starts_with(said)) problem.erase(0, said.size());
  return error(ErrorCode::Corruption,
               "database {} is damaged: {}; it is not known how many records cannot be read ({}); "
               "{}",
               folder.native(), problem, why, kRemedy);
}

/// Checks the start of a file. Corruption describes what is wrong with it; NotFound means that it
/// is gone.
Status check_prefix(const fs::path& folder, const FilePrefix& written) {
  FilePrefix found{written.name, 0, kEmptyDigest};
  GPUEMU_TRY(extend(found, folder, written.bytes));
  if (found.digest == written.digest) return ok_status();
  return error(ErrorCode::Corruption, "{}: its {} bytes are not those that were written",
               written.name, written.bytes);
}

/// Returns the number in "MANIFEST-000005".
uint64_t number_of(std::string_view manifest) {
  const std::string_view digits = manifest.substr(manifest.find('-') + 1);
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// Returns the content of CURRENT: the name of the manifest in use.
Result<std::string> current_manifest(const fs::path& folder) {
  constexpr size_t kBytesMax = 256;
  auto name = read_file(folder / "CURRENT", kBytesMax);
  if (!name) return error(ErrorCode::Corruption, "CURRENT: {}", name.error().message);
  if (!name->starts_with("MANIFEST-") || !name->ends_with('\n')) {
    return error(ErrorCode::Corruption, "CURRENT: does not name a manifest");
  }
  name->pop_back();
  return *std::move(name);
}

/// Returns whether the manifest is the one in the ledger; false if the database was opened after
/// the ledger was written.
Result<bool> check_manifest(const fs::path& folder, const Ledger& ledger) {
  const std::string manifest = GPUEMU_TRY(current_manifest(folder));
  std::error_code ignored;
  if (!fs::exists(folder / manifest, ignored)) {
    return error(ErrorCode::Corruption, "{}: missing", manifest);
  }
  if (number_of(manifest) > number_of(ledger.manifest.name)) return false;
  if (manifest != ledger.manifest.name) {
    return error(ErrorCode::Corruption, "CURRENT: names {}, which is older than {}", manifest,
                 ledger.manifest.name);
  }
  GPUEMU_TRY(check_prefix(folder, ledger.manifest));
  return true;
}

/// Checks the logs. Missing logs are added to `gone`; they may have been used up.
Status check_logs(const fs::path& folder, const Ledger& ledger, std::vector<std::string>& gone) {
  for (const FilePrefix& log : ledger.logs) {
    const Status prefix = check_prefix(folder, log);
    if (!prefix && prefix.error().code != ErrorCode::NotFound) return prefix;
    if (!prefix) gone.push_back(log.name);
  }
  return ok_status();
}

/// Returns whether RocksDB failed because a file is missing.
bool lacks_file(const Error& failure) {
  return failure.code == ErrorCode::Io &&
         failure.message.find(std::strerror(ENOENT)) != std::string::npos;
}

/// Checks a database of an earlier version, or one whose ledger is gone.
Result<Checked> check_without_ledger(const fs::path& folder, const std::string& why) {
  const auto manifest = current_manifest(folder);
  if (!manifest) return damaged_without_ledger(folder, manifest.error().message, why);
  const auto rocks = open_to_read(folder, Reading::Strict);
  if (!rocks && (rocks.error().code == ErrorCode::Corruption || lacks_file(rocks.error()))) {
    return damaged_without_ledger(folder, rocks.error().message, why);
  }
  if (!rocks) return rocks.error();
  return Checked{.is_new = false, .counts = {}, .ledger = {}, .note = why};
}

/// Checks the content when files may be newer than the ledger: RocksDB must read at least as much
/// as the ledger lists.
Result<Checked> check_content(const fs::path& folder, const Ledger& ledger, bool same_files,
                              const std::vector<std::string>& gone) {
  const auto rocks = open_to_read(folder, Reading::Strict);
  if (!rocks && (rocks.error().code == ErrorCode::Corruption || lacks_file(rocks.error()))) {
    const auto table = unreadable_table(folder);
    return damaged(folder, ledger, table ? text_of(*table) : rocks.error().message);
  }
  if (!rocks) return rocks.error();
  const uint64_t sequence = rocks->db->GetLatestSequenceNumber();
  const std::string last_log = gone.empty() ? "its logs" : gone.back();
  if (sequence < ledger.sequence) {
    return damaged(folder, ledger,
                   fmt::format("{}: ends at change {} of {}", last_log, sequence, ledger.sequence));
  }
  if (same_files && gone.empty() && sequence == ledger.sequence) {
    return Checked{.is_new = false, .counts = ledger.records, .ledger = ledger, .note = {}};
  }
  rocksdb::Status problem;
  const RecordCounts found = count_records(*rocks, &problem);
  if (!problem.ok()) return damaged(folder, ledger, text_of(problem_of(problem, folder)));
  const bool may_be_fewer = ledger.shrinking && sequence > ledger.sequence;
  const bool by_us = same_files || ledger.opening;
  if (by_us && !may_be_fewer && sum(missing(ledger.records, found)) > 0) {
    return damaged(folder, ledger, fmt::format("{}: missing", last_log));
  }
  return Checked{.is_new = false,
                 .counts = found,
                 .ledger = ledger,
                 .note = by_us ? "" : "another version of gpuemu has used the database meanwhile"};
}

/// Parses "NAME: problem".
FileProblem file_problem(const std::string& text) {
  const size_t colon = text.find(": ");
  if (colon == std::string::npos) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 2)};
}

}  // namespace

RecordCounts missing(const RecordCounts& expected, const RecordCounts& found) {
  RecordCounts lacking{};
  for (size_t i = 0; i < kCountedFamilies; ++i) {
    lacking[i] = expected[i] > found[i] ? expected[i] - found[i] : 0;
  }
  return lacking;
}

bool has_database(const fs::path& folder) {
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    const bool holds_records = name.ends_with(".sst") || name.ends_with(".log");
    if (name == "CURRENT" || name == "LEDGER") return true;
    if (holds_records && at->file_size(ignored) > 0) return true;
  }
  return false;
}

std::string text_of(const FileProblem& problem) {
  return problem.name.empty() ? problem.problem : problem.name + ": " + problem.problem;
}

Error damage_error(const fs::path& folder, const std::string& problem, const RecordCounts& expected,
                   const RecordCounts& lacking) {
  const std::string kinds = sum(lacking) == 0 ? "changes to them are lost" : kinds_of(lacking);
  return error(ErrorCode::Corruption,
               "database {} is damaged: {}; {} of {} records cannot be read ({}); {}",
               folder.native(), problem, sum(lacking), sum(expected), kinds, kRemedy);
}

std::vector<FileProblem> check_files(const fs::path& folder) {
  if (!has_database(folder)) return {};
  const auto ledger = read_ledger(folder);
  if (!ledger) return {file_problem(ledger.error().message)};
  if (!*ledger) return {{kLedgerName, "missing"}};
  std::vector<FileProblem> problems;
  const auto manifest = check_manifest(folder, **ledger);
  if (!manifest) problems.push_back(file_problem(manifest.error().message));
  for (const FilePrefix& log : (*ledger)->logs) {
    const Status prefix = check_prefix(folder, log);
    // A log that is gone was used up, or its records are missing.
    if (prefix || prefix.error().code == ErrorCode::NotFound) continue;
    problems.push_back(file_problem(prefix.error().message));
  }
  return problems;
}

bool knows_tables(const std::vector<FileProblem>& problems) {
  return std::ranges::none_of(problems, [](const FileProblem& one) {
    return one.name == "CURRENT" || one.name.starts_with("MANIFEST-");
  });
}

Result<Checked> check_database(const fs::path& folder) {
  if (!has_database(folder)) {
    return Checked{.is_new = true, .counts = RecordCounts{}, .ledger = {}, .note = {}};
  }
  auto ledger = read_ledger(folder);
  if (!ledger) return check_without_ledger(folder, ledger.error().message);
  if (!*ledger) return check_without_ledger(folder, "LEDGER: missing");
  const auto same_files = check_manifest(folder, **ledger);
  if (!same_files) {
    return damaged(folder, **ledger, same_files.error().message, Manifest::Damaged);
  }
  std::vector<std::string> gone;
  const Status logs = check_logs(folder, **ledger, gone);
  if (!logs && logs.error().code == ErrorCode::Corruption) {
    return damaged(folder, **ledger, logs.error().message);
  }
  GPUEMU_TRY(logs);
  return check_content(folder, **ledger, *same_files, gone);
}

namespace {

/// Returns the file and the problem in a message of damage_error().
FileProblem first_problem(std::string message) {
  constexpr std::string_view kSaid = " is damaged: ";
  const size_t at = message.find(kSaid);
  if (at != std::string::npos) message.erase(0, at + kSaid.size());
  return file_problem(message.substr(0, message.find("; ")));
}

}  // namespace

StorageReportReply verify_folder(const fs::path& folder) {
  std::vector<FileProblem> problems = check_files(folder);
  const auto checked = check_database(folder);
  if (checked && checked->is_new) return unopened_report({}, {}, std::move(problems));
  std::optional<RecordCounts> expected;
  const auto ledger = read_ledger(folder);
  if (checked) {
    expected = checked->counts;
  } else if (ledger && *ledger) {
    expected = (*ledger)->records;
  }
  // A damaged table is found when it is read.
  const bool is_known = knows_tables(problems);
  const auto rocks = is_known ? open_to_read(folder, checked ? Reading::Strict : Reading::Whatever)
                              : Result<OpenedRocks>(Error{});
  const RecordCounts found = rocks || !is_known ? RecordCounts{} : count_in_tables(folder);
  StorageReportReply report =
      rocks ? verify_records(*rocks, folder, nullptr, expected, std::move(problems))
            : unopened_report(expected, found, std::move(problems));
  if (!checked && report.files.empty()) {
    report.state = StorageState::Damaged;
    report.files.push_back(first_problem(checked.error().message));
  }
  return report;
}

}  // namespace gpuemu::storage
