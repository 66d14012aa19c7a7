// Implements `gpuemu storage`, which manages the records of the database.
#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kHour = 3600, kDay = 24 * kHour;
constexpr std::array<std::pair<std::string_view, uint64_t>, 5> kTimeUnits = {
    {{"", 1}, {"s", 1}, {"m", 60}, {"h", kHour}, {"d", kDay}}};
constexpr uint64_t kAgeMax = 36'500 * kDay;
constexpr std::array<std::pair<std::string_view, uint64_t>, 5> kSizeUnits = {
    {{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", uint64_t{1} << 40}}};
constexpr uint64_t kSizeMax = uint64_t{1} << 60;

/// "30d" or "512MiB" in the smallest unit; nothing for other text and for more than `max`.
template <typename Units>
std::optional<uint64_t> parse_units(const std::string& text, const Units& units, uint64_t max) {
  const size_t at = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number(std::string_view(text).substr(0, at));
  for (const auto& [name, factor] : units) {
    if (name != std::string_view(text).substr(at)) continue;
    if (!number || *number > max / factor) return std::nullopt;
    return *number * factor;
  }
  return std::nullopt;
}

struct PruneOptions {
  StoragePruneRequest request;
  std::string older_than, bytes;
};

std::string size_text(uint64_t bytes) {
  if (bytes < uint64_t{10} << 20) return fmt::format("{} KiB", (bytes + 1023) >> 10);
  return fmt::format("{} MiB", (bytes + (1 << 20) - 1) >> 20);
}

std::string text_of(const PrunedRecords& removed) {
  return fmt::format("{}, {}, metrics of {}, {}", counted(removed.passing, "passing result"),
                     counted(removed.failures, "failure"), counted(removed.artifacts, "kernel"),
                     counted(removed.runs, "CI run"));
}

uint64_t count_of(const std::map<std::string, uint64_t>& counts, const std::string& kind) {
  const auto found = counts.find(kind);
  return found == counts.end() ? 0 : found->second;
}

void show(const StorageStatusReply& status, Session& session) {
  session.out << fmt::format("database: {}\non disk:  {}\n", status.path,
                             size_text(status.bytes_on_disk));
  const PrunedRecords pruned = {
      count_of(status.pruned, "passing"), count_of(status.pruned, "failures"),
      count_of(status.pruned, "artifacts"), count_of(status.pruned, "runs")};
  session.out << "pruned:   "
              << (status.last_prune == 0
                      ? "never"
                      : fmt::format("{}; last on {}", text_of(pruned), day_of(status.last_prune)))
              << '\n';
  for (const StoredOfProject& one : status.projects) {
    session.out << fmt::format("{} {}\n", one.path.empty() ? one.id : one_line(one.path),
                               size_text(one.bytes));
    session.out << fmt::format(
        "  {}, {}, metrics of {}, {}, {}, {}\n", counted(one.passing, "passing result"),
        counted(one.failures, "failure"), counted(one.artifacts, "kernel"),
        counted(one.baselines, "baseline"),
        one.corpus == 1 ? "1 corpus entry" : fmt::format("{} corpus entries", one.corpus),
        counted(one.runs, "CI run"));
  }
}

void show_storage(Session& session) {
  const auto reply = session.answer_storage(StorageStatusRequest{});
  if (!reply) return;
  const auto& status = std::get<StorageStatusReply>(*reply);
  if (!session.json()) show(status, session);
  if (!status.damaged) return;
  session.err << "gpuemu: database " << status.path
              << " is damaged; `gpuemu storage verify` says what cannot be read\n";
  session.exit_code = ExitCode::Broken;
}

void prune(PruneOptions options, Session& session) {
  StoragePruneRequest& request = options.request;
  if (!options.older_than.empty()) {
    request.older_than = parse_units(options.older_than, kTimeUnits, kAgeMax);
    if (!request.older_than) {
      session.fail(error(ErrorCode::InvalidArgument,
                         "--older-than '{}': expected a time as in 90s, 36h or 30d",
                         options.older_than));
      return;
    }
  }
  if (!options.bytes.empty()) {
    request.bytes = parse_units(options.bytes, kSizeUnits, kSizeMax);
    if (!request.bytes) {
      session.fail(error(ErrorCode::InvalidArgument,
                         "--bytes '{}': expected a size as in 512MiB or 8GiB, or bytes",
                         options.bytes));
      return;
    }
  }
  const auto reply = session.answer_storage(request);
  if (!reply || session.json()) return;
  const auto& pruned = std::get<StoragePrunedReply>(*reply);
  session.out << fmt::format("{}: {}; {} bytes\n", pruned.dry_run ? "would delete" : "deleted",
                             text_of(pruned.removed), pruned.bytes_freed);
}

void verify(Session& session) {
  const auto reply = session.answer_storage(StorageVerifyRequest{});
  if (!reply) return;
  const auto& report = std::get<StorageReportReply>(*reply);
  const bool whole = report.state == StorageState::Whole;
  if (!whole) session.exit_code = ExitCode::Findings;
  if (session.json()) return;
  for (const FileProblem& one : report.files) {
    session.out << one.name << (one.name.empty() ? "" : ": ") << one.problem << '\n';
  }
  uint64_t expected = 0;
  std::string kinds;
  for (const auto& [kind, count] : report.expected) {
    expected += count;
    const uint64_t readable = count_of(report.readable, kind);
    if (readable >= count) continue;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", kind, count - readable);
  }
  session.out << (whole ? fmt::format("whole: {} can be read\n", counted(expected, "record"))
                        : fmt::format("damaged: {} of {} cannot be read{}\n", report.lost,
                                      counted(expected, "record"),
                                      kinds.empty() ? "" : " (" + kinds + ")"));
}

void back_up(const std::string& named, Session& session) {
  namespace fs = std::filesystem;
  const fs::path path = (fs::path(session.working_folder) / named).lexically_normal();
  const std::string place =
      path.has_filename() ? path.string() : path.parent_path().string();  // Without a last '/'.
  if (!session.answer_storage(StorageBackupRequest{place}) || session.json()) return;
  session.out << "wrote a backup to " << place << '\n';
}

void claim(const StorageClaimRequest& request, Session& session) {
  if (!session.project()) return;
  const auto reply = session.answer(request);
  if (!reply || session.json()) return;
  const auto& taken = std::get<StorageClaimedReply>(*reply);
  session.out << fmt::format(
      "{}: {} results, {} failures, {} baselines, metrics of {} kernels, {} corpus entries\n",
      taken.dry_run ? "would take" : "taken", taken.results, taken.failures, taken.baselines,
      taken.artifacts, taken.corpus);
}

void add_claim(Command command, Session& session) {
  auto request = std::make_shared<StorageClaimRequest>();
  Command claiming = command.command(
      "claim", "Take what was stored before projects were told apart into this project");
  claiming.option("--op", request->ops, "Only of this op (may be repeated)")
      .type_name("NAME")
      .one_word();
  claiming.flag("--all", request->all, "All records, also of other ops");
  claiming.flag("--dry-run", request->dry_run, "Only count what would be taken");
  add_format(claiming, session);
  claiming.callback([request, &session] { claim(*request, session); });
}

void add_prune(Command command, Session& session) {
  auto options = std::make_shared<PruneOptions>();
  StoragePruneRequest& request = options->request;
  Command pruning = command.command("prune", "Delete old records, never baselines");
  pruning.flag("--passing", request.passing, "Results that pass");
  pruning.flag("--failures", request.failures, "Failures with their inputs");
  pruning.flag("--artifacts", request.artifacts, "Metrics of kernels");
  pruning.flag("--runs", request.runs, "CI runs in trends");
  pruning.option("--op", request.op, "Only of this op, or metrics of this kernel")
      .type_name("NAME");
  pruning.option("--older-than", options->older_than, "Only what is older: 90s, 36h, 30d")
      .type_name("TIME");
  pruning.option("--keep", request.keep, "Not the newest N of each kind")
      .type_name("N")
      .not_negative();
  pruning
      .option("--bytes", options->bytes,
              "Oldest first, until no more is left of the project:\n512MiB, or bytes")
      .type_name("SIZE");
  pruning.flag("--dry-run", request.dry_run, "Only count what would go");
  add_all_projects(pruning, session);
  add_format(pruning, session);
  pruning.callback([options, &session] { prune(*options, session); });
}

}  // namespace

void add_storage(Command app, Session& session) {
  Command command = app.command("storage", "Manage the records of the database");
  command.require_command();
  Command status = command.command("status", "Count what is stored");
  add_all_projects(status, session);
  add_format(status, session);
  status.callback([&session] { show_storage(session); });
  add_prune(command, session);
  Command verifying = command.command(
      "verify", "Read every file, checksum, record and index entry; exit code 1\nfor damage");
  add_all_projects(verifying, session);
  add_format(verifying, session);
  verifying.callback([&session] { verify(session); });
  auto place = std::make_shared<std::string>();
  Command backup =
      command.command("backup", "Copy the database, also while it is written, to a new folder");
  backup.option("PATH", *place, "The new folder").required();
  add_all_projects(backup, session);
  add_format(backup, session);
  backup.callback([place, &session] { back_up(*place, session); });
  add_claim(command, session);
}

}  // namespace gpuemu::cli
