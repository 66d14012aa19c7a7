// Implements `gpuemu storage`, which manages the records of the database.
#include <filesystem>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/text.h"
#include "common/base/text.h"
#include "common/base/units.h"

namespace gpuemu::cli {
namespace {

struct PruneOptions {
  StoragePruneRequest request;
  std::string older_than, bytes;
};

struct RestoreOptions {
  std::string path;
  bool force = false;
};

std::string size_text(uint64_t bytes) {
  if (bytes < uint64_t{10} << 20) return fmt::format("{} KiB", (bytes + 1023) >> 10);
  return fmt::format("{} MiB", (bytes + (1 << 20) - 1) >> 20);
}

std::string text_of(const PrunedRecords& removed) {
  return fmt::format("{}, {}, {} of kernels, {}", counted(removed.passing, "passing result"),
                     counted(removed.failures, "failure"),
                     counted(removed.artifacts, "measurement"), counted(removed.runs, "CI run"));
}

uint64_t count_of(const std::map<std::string, uint64_t>& counts, const std::string& kind) {
  const auto found = counts.find(kind);
  return found == counts.end() ? 0 : found->second;
}

/// Returns text such as ": results 12 KiB, index 3 KiB" for the kinds that exist.
std::string kinds_text(const std::map<std::string, uint64_t>& bytes) {
  std::string text;
  for (const auto& [kind, of_kind] : bytes) {
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", kind, size_text(of_kind));
  }
  return text;
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
    session.out << fmt::format("{}{} {}{}\n", one.path.empty() ? one.id : one_line(one.path),
                               one.user.empty() ? "" : " of " + one_line(one.user),
                               size_text(one.bytes), kinds_text(one.bytes_by_kind));
    session.out << fmt::format(
        "  {}, {}, metrics of {} and {} earlier, {}, {}, {}\n",
        counted(one.passing, "passing result"), counted(one.failures, "failure"),
        counted(one.artifacts, "kernel"), one.artifact_history, counted(one.baselines, "baseline"),
        one.corpus == 1 ? "1 corpus entry" : fmt::format("{} corpus entries", one.corpus),
        counted(one.runs, "CI run"));
  }
}

std::string limit_text(uint64_t limit, const std::string& unit) {
  return limit == 0 ? "" : fmt::format(" {} {}", limit, unit);
}

/// Prints the [storage] settings of this project.
void show_retention(const Retention& kept, Session& session) {
  const auto kind = [](const std::string& name, const std::string& limits) {
    return fmt::format("{}{}", name, limits.empty() ? " all" : limits);
  };
  session.out << fmt::format("kept:     {}; {}; {}; {}; {} in all\n",
                             kind("passing", limit_text(kept.passing_days, "days") +
                                                 limit_text(kept.passing_count, "results")),
                             kind("failing", limit_text(kept.failure_days, "days") +
                                                 limit_text(kept.failure_count, "results")),
                             kind("metrics", limit_text(kept.artifact_count, "of a kernel")),
                             kind("CI", limit_text(kept.run_count, "runs")),
                             kept.bytes == 0 ? "any size" : size_text(kept.bytes));
}

/// Describes the known damage of the database that `status` describes.
std::string damage_of(const StorageStatusReply& status, Session& session) {
  std::string damage;
  if (!session.daemon_answers()) {
    damage = session.database_problem().value_or("");
  } else if (const auto served = session.ask_for(DaemonStatusRequest{})) {
    damage = served->damage;
  }
  if (!damage.empty()) return damage;
  return fmt::format("database {} is damaged; `gpuemu storage verify` says what cannot be read",
                     status.path);
}

void show_storage(Session& session) {
  const auto reply = session.answer_storage(StorageStatusRequest{.kinds = !session.json()});
  if (!reply) return;
  const auto& status = std::get<StorageStatusReply>(*reply);
  if (!session.json()) {
    show(status, session);
    if (const auto config = session.config()) show_retention(config->retention, session);
  }
  if (!status.damaged) return;
  session.err << "gpuemu: " << damage_of(status, session) << '\n';
  session.exit_code = ExitCode::Broken;
}

void prune(PruneOptions options, Session& session) {
  StoragePruneRequest& request = options.request;
  if (!options.older_than.empty()) {
    request.older_than = gpuemu::parse_age(options.older_than);
    if (!request.older_than) {
      session.fail(error(ErrorCode::InvalidArgument,
                         "--older-than '{}': expected a time as in 90s, 36h or 30d",
                         options.older_than));
      return;
    }
  }
  if (!options.bytes.empty()) {
    request.bytes = gpuemu::parse_size(options.bytes);
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
  session.out << fmt::format("{}: {}; {}\n", pruned.dry_run ? "would delete" : "deleted",
                             text_of(pruned.removed), counted(pruned.bytes_freed, "byte"));
}

/// Prints each damaged file, and how many records cannot be read.
void show(const StorageReportReply& report, Session& session) {
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
  if (report.state == StorageState::Whole) {
    session.out << fmt::format("whole: {} can be read\n", counted(expected, "record"));
    return;
  }
  session.out << fmt::format("{}: {} of {} cannot be read{}\n", name_of(report.state), report.lost,
                             counted(expected, "record"), kinds.empty() ? "" : " (" + kinds + ")");
}

void verify(Session& session) {
  const auto reply = session.answer_storage(StorageVerifyRequest{});
  if (!reply) return;
  const auto& report = std::get<StorageReportReply>(*reply);
  if (report.state != StorageState::Whole) session.exit_code = ExitCode::Findings;
  if (!session.json()) show(report, session);
}

/// Stops an idle daemon, because it has the database open. Returns false if it is busy or does not
/// end, which has been reported.
bool stop_idle_daemon(Session& session) {
  if (!session.daemon_answers()) return true;
  const auto status = session.ask_for(DaemonStatusRequest{});
  if (!status) return false;
  if (status->jobs_running > 0) {
    session.fail(
        ErrorReply{WireErrorCode::Busy,
                   fmt::format("the daemon has the database open and is busy with {}; wait "
                               "for its end, or `gpuemu daemon stop --now`",
                               counted(status->jobs_running, "job"))});
    return false;
  }
  const Status stopped = session.stop_daemon();
  if (!stopped) session.fail(stopped.error());
  return stopped.ok();
}

void repair(bool dry_run, Session& session) {
  if (session.daemon_answers()) {
    const auto report = session.ask_for(StorageVerifyRequest{});
    if (!report) return;
    if (report->state == StorageState::Whole || dry_run) {
      if (session.json()) return session.print_json(encode_reply(*report));
      return show(*report, session);
    }
    if (!stop_idle_daemon(session)) return;
  }
  std::vector<std::string> options = {"--repair"};
  if (dry_run) options.emplace_back("--dry-run");
  const auto reply = session.answer_of_program(options);
  if (!reply || session.json()) return;
  const auto& report = std::get<StorageReportReply>(*reply);
  show(report, session);
  if (report.kept_as.empty()) return;
  session.out << "the damaged database is kept as " << report.kept_as << '\n';
}

/// Returns an absolute path without a trailing '/'.
std::string place_of(const std::string& named, const Session& session) {
  namespace fs = std::filesystem;
  const fs::path path = (fs::path(session.working_folder) / named).lexically_normal();
  return path.has_filename() ? path.string() : path.parent_path().string();
}

void restore(const RestoreOptions& wanted, Session& session) {
  if (!stop_idle_daemon(session)) return;
  const std::string backup = place_of(wanted.path, session);
  std::vector<std::string> options = {"--restore", backup};
  if (wanted.force) options.emplace_back("--force");
  const auto reply = session.answer_of_program(options);
  if (!reply || session.json()) return;
  const auto& report = std::get<StorageReportReply>(*reply);
  uint64_t records = 0;
  for (const auto& [kind, count] : report.readable) records += count;
  session.out << fmt::format("restored {} from {}\n", counted(records, "record"), backup);
  if (report.kept_as.empty()) return;
  session.out << "the previous database is kept as " << report.kept_as << '\n';
}

void compact(Session& session) {
  const auto reply = session.answer_storage(StorageCompactRequest{});
  if (!reply || session.json()) return;
  const auto& compacted = std::get<StorageCompactedReply>(*reply);
  session.out << fmt::format("gave back {}; {} are in use\n", size_text(compacted.bytes_freed),
                             size_text(compacted.bytes_on_disk));
}

void back_up(const std::string& named, Session& session) {
  const std::string place = place_of(named, session);
  if (!session.answer_storage(StorageBackupRequest{place}) || session.json()) return;
  session.out << "wrote a backup to " << place << '\n';
}

void claim(const StorageClaimRequest& request, Session& session) {
  if (!session.project()) return;
  const auto reply = session.answer(request);
  if (!reply || session.json()) return;
  const auto& taken = std::get<StorageClaimedReply>(*reply);
  session.out << fmt::format(
      "{}: {}, {}, {}, metrics of {}, {}\n", taken.dry_run ? "would take" : "taken",
      counted(taken.results, "result"), counted(taken.failures, "failure"),
      counted(taken.baselines, "baseline"), counted(taken.artifacts, "kernel"),
      taken.corpus == 1 ? "1 corpus entry" : fmt::format("{} corpus entries", taken.corpus));
}

void add_claim(Command command, Session& session) {
  auto request = std::make_shared<StorageClaimRequest>();
  Command claiming =
      command.command("claim", "Move records from before projects were separate into this project");
  claiming.option("--op", request->ops, "Only of this op (may be repeated)")
      .type_name("NAME")
      .one_word();
  claiming.flag("--all", request->all, "All records, also of other ops");
  claiming.flag("--dry-run", request->dry_run, "Only count the records that would be moved");
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
  pruning.option("--keep", request.keep, "Keep the newest N of each kind")
      .type_name("N")
      .not_negative();
  pruning
      .option("--bytes", options->bytes,
              "Delete the oldest until the project has at most:\n512MiB, or bytes")
      .type_name("SIZE");
  pruning.flag("--dry-run", request.dry_run, "Only count the records that would be deleted");
  add_all_projects(pruning, session);
  add_format(pruning, session);
  pruning.callback([options, &session] { prune(*options, session); });
}

void add_repair(Command command, Session& session) {
  auto dry_run = std::make_shared<bool>(false);
  Command repairing = command.command(
      "repair", "Rebuild the database from readable records, and keep the damaged one");
  repairing.flag("--dry-run", *dry_run, "Only report what would be lost");
  add_all_projects(repairing, session);
  add_format(repairing, session);
  repairing.callback([dry_run, &session] { repair(*dry_run, session); });
}

void add_restore(Command command, Session& session) {
  auto options = std::make_shared<RestoreOptions>();
  Command restoring = command.command("restore", "Replace the database by a backup");
  restoring.option("PATH", options->path, "The folder of the backup").required();
  restoring.flag("--force", options->force,
                 "Even if the database has records; it is kept beside the new one");
  add_all_projects(restoring, session);
  add_format(restoring, session);
  restoring.callback([options, &session] { restore(*options, session); });
}

void add_compact(Command command, Session& session) {
  Command compacting = command.command("compact", "Return unused disk space");
  add_all_projects(compacting, session);
  add_format(compacting, session);
  compacting.callback([&session] { compact(session); });
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
  add_restore(command, session);
  add_repair(command, session);
  add_compact(command, session);
  add_claim(command, session);
}

}  // namespace gpuemu::cli
