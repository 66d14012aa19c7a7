// `gpuemu ci`: checks a change before it is merged.
#include "cli/report/ci.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "cli/archive/archive.h"
#include "cli/archive/project_files.h"
#include "cli/commands/baselines.h"
#include "cli/commands/ci_reports.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/ci_formats.h"
#include "cli/scaffold/framework_text.h"
#include "cli/session/job.h"
#include "cli/session/own_daemon.h"
#include "common/base/files.h"
#include "common/base/service_limits.h"
#include "common/base/shell_word.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

// The default seed if neither --seed nor validation.seed is given: two runs of the same tree must
// agree.
constexpr uint64_t kSeed = 1;

struct CiOptions {
  bool quick = false, thorough = false, no_cache = false, coverage = false, snapshots = false;
  bool strict = false;
  std::string tag, file, budget, shard, archive;
  uint64_t parallel = 0;
  std::optional<uint64_t> seed, max_elements;
  ReportChoice reports;
};

Status add_shard(const std::string& text, RunCiRequest& request) {
  if (text.empty()) return ok_status();
  const size_t slash = text.find('/');
  const bool two = slash != std::string::npos;
  const uint64_t part = parse_number(text.substr(0, slash)).value_or(0);
  const uint64_t all = two ? parse_number(text.substr(slash + 1)).value_or(0) : 0;
  if (part < 1 || part > all) {
    return error(ErrorCode::InvalidArgument,
                 "--shard '{}': expected PART/ALL with PART from 1 to ALL, as in 2/8", text);
  }
  request.shard = part;
  request.shards = all;
  return ok_status();
}

Result<RunCiRequest> request_of(const CiOptions& options, const Config& config) {
  if (options.quick && options.thorough) {
    return error(ErrorCode::InvalidArgument,
                 "--quick and --thorough each choose a profile; give one of them");
  }
  if (!options.tag.empty() && !options.file.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "--baseline and --file each name a baseline; give one of them");
  }
  if (config.ops.empty() && config.kernels.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "{} has neither ops nor kernels, so there is nothing to check; add some, or let "
                 "`gpuemu init` find them{}",
                 config.file,
                 python_programs_hint(std::filesystem::path(config.file).parent_path()));
  }
  RunCiRequest request;
  request.quick = options.quick;
  request.profile = options.quick      ? CiProfile::Quick
                    : options.thorough ? CiProfile::Thorough
                                       : CiProfile::Default;
  request.parallel_jobs = options.parallel;
  request.stream = true;
  request.seed = options.seed ? options.seed : config.seed.value_or(kSeed);
  if (!options.budget.empty()) {
    request.budget_ms = GPUEMU_TRY(parse_duration("--budget", options.budget));
  }
  GPUEMU_TRY(add_shard(options.shard, request));
  request.cached = !options.no_cache;
  request.snapshots = options.snapshots;
  request.max_elements = options.max_elements;
  request.strict = options.strict;
  request.coverage = options.coverage || options.reports.wants_coverage();
  return request;
}

bool add_baseline(const CiOptions& options, RunCiRequest& request, Session& session) {
  if (options.tag.empty() && options.file.empty()) return true;
  const auto baseline = find_baseline(options.tag, options.file, session);
  if (!baseline) return false;
  request.baseline = baseline->tag;
  if (options.file.empty()) return true;
  request.baseline_artifacts = baseline->artifacts;
  request.baseline_results = baseline->results;
  return true;
}

struct CiRun {
  Finished<CiRunCompleteReply> done;
  CasePictures pictures;  ///< Made only if a page is written.
};

std::optional<CiRun> run_on_daemon(const CiOptions& options, RunCiRequest& request,
                                   Session& session) {
  const OwnDaemon daemon(session);
  const Status ready = session.ensure_daemon();
  if (!ready) {
    session.fail(ready.error());
    return std::nullopt;
  }
  if (!add_baseline(options, request, session)) return std::nullopt;
  auto done = finish_job<CiRunCompleteReply>(session, request, "ci");
  if (!done) return std::nullopt;
  CiRun run{*std::move(done), {}};
  const CiRunSummary& summary = run.done.reply.summary;
  if (!options.archive.empty() && summary.failed > 0) {
    run.pictures = archive_cases(summary, session);
  } else if (options.reports.wants_pictures()) {
    run.pictures = picture_cases(summary, session);
  }
  return run;
}

/// Writes the archive of a run in which a case failed: no other runs need to be repeated elsewhere.
void leave_archive(const std::string& file, const CiRun& run, const Config& config,
                   Session& session) {
  const CiRunSummary& summary = run.done.reply.summary;
  if (summary.failed == 0) {
    session.err << fmt::format("note: {} was not written: nothing failed\n", one_line(file));
    return;
  }
  ProjectFiles project = project_files(config);
  CiRunSummary shown = summary;
  for (const std::string& one : project.left_out) {
    shown.notes.push_back(
        fmt::format("`gpuemu open` cannot run what needs {}: it is not in the archive", one));
  }
  const RunArchive archive{.version = GPUEMU_VERSION,
                           .config = project.config,
                           .files = std::move(project.files),
                           .run = summary,
                           .cases = run.pictures.cases,
                           .page = render_ci("html", shown, config, run.pictures),
                           .left_out = std::move(project.left_out)};
  const auto packed = pack_archive(archive);
  const Status written = packed ? write_file(fs::path(session.working_folder) / file, *packed)
                                : Status(packed.error());
  if (!written) {
    session.err << "gpuemu: " << written.error().message << '\n';
    if (session.exit_code != ExitCode::Interrupted) session.exit_code = ExitCode::Broken;
    return;
  }
  for (const std::string& one : archive.left_out) {
    session.err << fmt::format(
        "note: {} is not in the archive: it is missing, a link, below a hidden folder or large\n",
        one_line(one));
  }
  session.err << fmt::format("wrote {}: `gpuemu open {}` shows it and runs its cases again\n",
                             one_line(file), shell_word(file));
}

/// Returns a plan with every op in the dtypes of the profile.
RunPlan plan_of(const CiOptions& options, const Config& config) {
  RunPlan plan{.command = "ci", .ops = {}, .dtypes = {}};
  plan.cases = options.quick ? kQuickCases : options.thorough ? kThoroughCases : config.cases;
  for (const OpConfig& op : config.ops) {
    plan.ops.push_back(op.name);
    for (const DType dtype : options.quick ? config.ci_quick_dtypes : op.dtypes) {
      if (std::ranges::find(plan.dtypes, dtype) == plan.dtypes.end()) plan.dtypes.push_back(dtype);
    }
  }
  return plan;
}

/// Whether there is anything to run or to measure, in whichever shard.
bool has_work(const Config& config) {
  return !config.kernels.empty() || std::ranges::any_of(config.ops, [](const OpConfig& op) {
    return op.mode == ExecutionMode::Kernel || op.mode == ExecutionMode::ScriptBased;
  });
}

void run(const CiOptions& options, Session& session) {
  if (!session.stream_fits(options.reports.output)) return;
  const auto config = session.project();
  if (!config) return;
  auto request = request_of(options, *config);
  if (!request) {
    session.fail(request.error());
    return;
  }
  Status writable = options.reports.check(session);
  if (writable && !options.archive.empty()) writable = check_place(options.archive, session);
  if (!writable) {
    session.fail(writable.error());
    return;
  }
  session.begin_stream(plan_of(options, *config));
  const auto result = run_on_daemon(options, *request, session);
  if (!result) return;
  const CiRunSummary& summary = result->done.reply.summary;
  const CiVerdict verdict = verdict_of(summary);
  session.exit_code = result->done.ended_with(verdict == CiVerdict::Broken     ? ExitCode::Broken
                                              : verdict == CiVerdict::Findings ? ExitCode::Findings
                                                                               : ExitCode::Ok);
  const bool is_part = summary.shards > 0 && has_work(*config);
  if (summary.total_tests == 0 && session.exit_code == ExitCode::Ok && !is_part) {
    session.err << "gpuemu: nothing was checked: every op runs in the client and no kernel could "
                   "be measured; give the ops kernels or op scripts\n";
    session.exit_code = ExitCode::Broken;
  }
  if (!options.archive.empty()) leave_archive(options.archive, *result, *config, session);
  options.reports.show(summary, *config, result->pictures, session);
}

}  // namespace

void add_ci(Command app, Session& session) {
  auto options = std::make_shared<CiOptions>();
  Command command = app.command("ci", "Check everything before a merge: test, lint and diff");
  command.flag("--quick", options->quick, "10 cases per op, in ci.quick_dtypes");
  command.flag("--thorough", options->thorough,
               "256 cases per op and dtype, at most ci.thorough_timeout");
  command.option("--baseline", options->tag, "Compare with this stored baseline")
      .type_name("TAG")
      .check(not_empty());
  command.option("--file", options->file, "Compare with the baseline in this file")
      .type_name("FILE")
      .check(not_empty());
  command
      .option("--budget", options->budget,
              "Run more cases for this long, while coverage grows:\n90s, 10m, 2h")
      .type_name("TIME")
      .check(not_empty());
  command.option("--shard", options->shard, "Only this part of the work, as in 2/8")
      .type_name("I/N")
      .check(not_empty());
  command
      .option("--parallel", options->parallel,
              "Cases and compilers to run in parallel\n(default: ci.parallel_jobs)")
      .type_name("N")
      .check(whole_number(0, kWorkersMax));
  add_base_seed(command, options->seed)
      .help("Base seed: the same seed gives the same cases\n(default: validation.seed, else 1)");
  add_max_elements(command, options->max_elements);
  add_strict(command, options->strict);
  command.flag("--no-cache", options->no_cache, "Also run what has not changed since it passed");
  command.flag("--coverage", options->coverage, "Count which source lines run");
  command.flag("--snapshots", options->snapshots,
               "Put the inputs of failing cases into JSON reports; they may be large");
  add_session(command, session);
  add_reports(command, options->reports, session);
  command
      .option("--archive", options->archive,
              "If a case fails, write the whole run to one file for `gpuemu open`")
      .type_name("FILE")
      .check(not_empty());
  add_stream(command, session);
  command.footer(
      "Needs no running daemon; stops the one that it starts.\n"
      "Exit code: 0 nothing wrong, 1 a failed case, a limit or a regression, 2 wrong use or\n"
      "gpuemu.toml, 3 something could not be run or measured.\n"
      "Examples:\n"
      "  gpuemu ci --quick --format junit --output results.xml\n"
      "  gpuemu ci --file baseline.json --report sarif=gpuemu.sarif --report html=report.html\n"
      "  gpuemu ci --thorough --shard 2/8 --budget 30m");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
