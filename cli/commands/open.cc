// `gpuemu open ARCHIVE`: unpacks a failing run of another host and repeats its cases on this one.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>

#include <stdlib.h>

#include "cli/archive/archive.h"
#include "cli/archive/opened.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/ci.h"
#include "cli/report/ci_findings.h"
#include "cli/report/text.h"
#include "cli/scaffold/file_plan.h"
#include "cli/session/job.h"
#include "cli/session/own_daemon.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

struct OpenOptions {
  std::string archive, folder;
  bool no_replay = false;
};

/// Returns the folder, below `folder`, with the project file of an opened archive.
fs::path project_folder(const RunArchive& archive, const fs::path& folder) {
  return (folder / "project" / archive.config).parent_path();
}

constexpr size_t kFindingsShown = 20, kDifferencesShown = 10;

/// Reads the archive. A damaged one is the caller's mistake: exit code 2.
Result<RunArchive> read_archive(const std::string& name, const Session& session) {
  const auto refuse = [&](const Error& why) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} cannot be opened: {}; ask for it again, `gpuemu ci --archive` "
                             "writes it",
                             one_line(name), one_line(why.message))};
  };
  const fs::path path = fs::path(session.working_folder) / name;
  const auto bytes = read_file(path, kArchiveBytesMax);
  if (!bytes && bytes.error().code == ErrorCode::NotFound) {
    return error(ErrorCode::InvalidArgument, "no file {}; `gpuemu ci --archive FILE` writes one",
                 one_line(path.string()));
  }
  if (!bytes) return refuse(bytes.error());
  auto archive = unpack_archive(*bytes);
  if (!archive) return refuse(archive.error());
  return archive;
}

/// Returns "run" for "ci/run.gpuemu"; adds a suffix to a name without one.
std::string default_folder(const std::string& archive) {
  const fs::path name = fs::path(archive).filename();
  return name.stem() == name ? name.string() + "-opened" : name.stem().string();
}

/// Requires a folder that does not exist or is empty, so that nothing is overwritten or leads
/// elsewhere.
Status check_new_folder(const fs::path& folder) {
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(folder, failed);
  const bool is_free =
      !fs::exists(status) || (fs::is_directory(status) && fs::is_empty(folder, failed));
  if (is_free) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "{} exists; nothing was written. Name another folder with --output",
               folder.string());
}

Status write_folder(const RunArchive& archive, const fs::path& folder) {
  FilePlan plan{folder, {}};
  plan.files["report.html"] = archive.page;
  plan.files["run.json"] = ci_json(archive.run);
  for (const ReproduceResultReply& one : archive.cases) {
    plan.files[fmt::format("cases/{}.json", one.result.seed)] = case_text(one);
  }
  for (const auto& [path, content] : archive.files) plan.files["project/" + path] = content;
  const auto written = write_files(plan, false);
  return written ? ok_status() : Status(written.error());
}

void show(const RunArchive& archive, const std::string& folder, Session& session) {
  const CiRunSummary& run = archive.run;
  session.out << fmt::format("a run of gpuemu {}: {} passed, {} failing; {}\n",
                             one_line(archive.version), run.passed, run.failed,
                             one_line(origin_of(run)));
  const auto findings = ci_findings(run);
  for (size_t i = 0; i < std::min(findings.size(), kFindingsShown); ++i) {
    session.out << finding_line(findings[i]) << '\n';
  }
  if (findings.size() > kFindingsShown) {
    session.out << fmt::format("and {}\n",
                               counted(findings.size() - kFindingsShown, "more finding"));
  }
  session.out << fmt::format("report:  {}/report.html\nproject: {} ({})\n", folder,
                             one_line(project_folder(archive, folder).string()),
                             counted(archive.files.size(), "file"));
  for (const std::string& one : archive.left_out) {
    session.out << "note: not in the archive: " << one_line(one) << '\n';
  }
}

/// The folder for the daemon of a replay; removed with the object.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "gpuemu-open-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

using Key = std::tuple<std::string, DType, uint64_t>;  ///< Op, dtype and seed of a case.
using Verdicts = std::map<Key, Kinds>;
/// Op, dtype, base seed and number: what determines a generated case.
using Origin = std::tuple<std::string, DType, uint64_t, uint64_t>;

Kinds kinds_of(const ValidationResult& result) {
  Kinds kinds;
  for (const ValidationFailure& one : result.failures) kinds.insert(name_of(one.kind));
  return kinds;
}

std::string text_of(const Kinds& kinds) {
  std::string text;
  for (const std::string& one : kinds) text += (text.empty() ? "" : ", ") + one;
  return text.empty() ? "passes" : text;
}

/// The cases to run: those of an op with these numbers and one base seed.
struct Replay {
  std::string op;
  uint64_t base_seed = 0, cases = 0;
  std::set<DType> dtypes;
};

struct Expected {
  Verdicts verdicts;
  std::map<Key, Origin> origins;
  std::vector<Replay> replays;
  size_t others = 0;  ///< Cases that are not generated, but were run by scripts.
};

Expected expected_of(const CiRunSummary& run) {
  Expected expected;
  std::map<std::pair<std::string, uint64_t>, Replay> replays;
  for (const ValidationResult& one : run.validation_results) {
    if (one.passed) continue;
    const auto& info = one.repro_info;
    if (!info || !info->base_seed || !info->iteration || *info->iteration >= kIterationsMax) {
      ++expected.others;
      continue;
    }
    const Key key{one.op_name, info->dtype, one.seed};
    expected.verdicts[key] = kinds_of(one);
    expected.origins[key] = {one.op_name, info->dtype, *info->base_seed, *info->iteration};
    Replay& replay = replays[{one.op_name, *info->base_seed}];
    replay.op = one.op_name;
    replay.base_seed = *info->base_seed;
    replay.cases = std::max(replay.cases, *info->iteration + 1);
    replay.dtypes.insert(info->dtype);
  }
  for (auto& [key, replay] : replays) expected.replays.push_back(std::move(replay));
  return expected;
}

/// Returns nothing if a run failed, which has been reported.
std::optional<Verdicts> run_all(const std::vector<Replay>& replays, Session& session) {
  Verdicts found;
  const OwnDaemon daemon(session);
  for (const Replay& one : replays) {
    const RunTestsRequest request{.ops = {one.op},
                                  .dtypes = {one.dtypes.begin(), one.dtypes.end()},
                                  .cases = one.cases,
                                  .seed = one.base_seed,
                                  .stream = true};
    const auto done = finish_job<TestReportReply>(session, request, "open");
    if (!done) return std::nullopt;
    for (const OpTestReport& op : done->reply.ops) {
      for (const ValidationResult& result : op.failures) {
        found[{op.op_name, op.dtype, result.seed}] = kinds_of(result);
      }
    }
  }
  return found;
}

/// Removes the cases that `gpuemu minimize` made, because minimizing here made others from the same
/// origin. Returns how many were removed.
size_t drop_smaller(const Verdicts& found, Expected& expected) {
  std::set<Origin> made;
  for (const auto& [key, origin] : expected.origins) {
    if (found.contains(key)) made.insert(origin);
  }
  return std::erase_if(expected.verdicts, [&](const auto& one) {
    return !found.contains(one.first) && made.contains(expected.origins.at(one.first));
  });
}

ReplayOutcome compare(Expected expected, const Verdicts& found) {
  ReplayOutcome outcome;
  outcome.not_replayed = expected.others + drop_smaller(found, expected);
  outcome.cases = expected.verdicts.size();
  for (const auto& [key, kinds] : expected.verdicts) {
    const auto& [op, dtype, seed] = key;
    const auto here = found.find(key);
    const Kinds now = here == found.end() ? Kinds() : here->second;
    if (now == kinds) {
      ++outcome.same;
    } else {
      outcome.differing.push_back({op, dtype, seed, kinds, now});
    }
  }
  return outcome;
}

void show_replay(const ReplayOutcome& outcome, Session& session) {
  for (size_t i = 0; i < std::min(outcome.differing.size(), kDifferencesShown); ++i) {
    const DifferingCase& one = outcome.differing[i];
    session.out << fmt::format("[differs] {} {} seed {}: {} there, {} here\n", one_line(one.op),
                               name_of(one.dtype), one.seed, text_of(one.there), text_of(one.here));
  }
  session.out << fmt::format("replayed: {} of {} {} the same verdict here\n", outcome.same,
                             counted(outcome.cases, "failing case"),
                             outcome.cases == 1 ? "has" : "have");
  if (outcome.not_replayed > 0) {
    session.out << fmt::format("note: {} not replayed: {} made by a script or `gpuemu minimize`\n",
                               outcome.not_replayed == 1
                                   ? "1 failing case was"
                                   : fmt::format("{} failing cases were", outcome.not_replayed),
                               outcome.not_replayed == 1 ? "it was" : "they were");
  }
  if (outcome.differing.empty()) return;
  session.out << "note: the replay takes the project's settings; with --strict or --max-elements "
                 "the run there may have judged otherwise\n";
}

/// Repeats the cases in a database of its own, so that stored records neither help nor change.
/// Returns nothing if that was impossible, which has been reported.
std::optional<ReplayOutcome> replay(const RunArchive& archive, const fs::path& folder,
                                    Session& session) {
  Expected expected = expected_of(archive.run);
  const Scratch scratch;
  if (scratch.path().empty()) {
    session.fail(
        error(ErrorCode::Io, "no folder can be made in {}", fs::temp_directory_path().string()));
    return std::nullopt;
  }
  std::ostringstream nowhere;
  Session here(nowhere, session.err, session.interrupted);
  here.environment = session.environment;
  // The daemon inherits the environment of this process, which ends with the command.
  for (const auto& [name, file] :
       {std::pair("GPUEMU_DB", "db"), std::pair("GPUEMU_SOCKET", "socket")}) {
    here.environment[name] = (scratch.path() / file).string();
    ::setenv(name, here.environment[name].c_str(), 1);
  }
  here.environment.erase("GPUEMU_CONFIG");
  ::unsetenv("GPUEMU_CONFIG");
  here.working_folder = project_folder(archive, folder).string();
  here.config_file = (folder / "project" / archive.config).string();
  here.program_folder = session.program_folder;
  here.terminal = session.terminal;
  if (!here.project()) {
    session.exit_code = here.exit_code;
    return std::nullopt;
  }
  const auto found = run_all(expected.replays, here);
  if (!found) {
    session.exit_code = here.exit_code == ExitCode::Interrupted ? here.exit_code : ExitCode::Broken;
    return std::nullopt;
  }
  ReplayOutcome outcome = compare(std::move(expected), *found);
  if (!outcome.differing.empty()) session.exit_code = ExitCode::Findings;
  return outcome;
}

void run(const OpenOptions& options, Session& session) {
  const auto archive = read_archive(options.archive, session);
  if (!archive) {
    session.fail(archive.error());
    return;
  }
  const std::string name =
      options.folder.empty() ? default_folder(options.archive) : options.folder;
  const fs::path folder = (fs::path(session.working_folder) / name).lexically_normal();
  Status written = check_new_folder(folder);
  if (written) written = write_folder(*archive, folder);
  if (!written) {
    session.fail(written.error());
    return;
  }
  if (!session.json()) show(*archive, one_line(name), session);
  std::optional<ReplayOutcome> outcome;
  if (!options.no_replay) outcome = replay(*archive, folder, session);
  if (session.json()) {
    session.print_json(opened_json(*archive, {options.archive, name}, outcome));
  } else if (outcome) {
    show_replay(*outcome, session);
  }
}

}  // namespace

void add_open(Command app, Session& session) {
  auto options = std::make_shared<OpenOptions>();
  Command command =
      app.command("open", "Show the archive of a failing `gpuemu ci` and run its cases here");
  command.option("ARCHIVE", options->archive, "A file of `gpuemu ci --archive`")
      .type_name(" ")
      .required();
  command
      .option("-o,--output", options->folder,
              "The folder to make (default: the archive's name\nwithout its ending)")
      .type_name("DIR")
      .check(not_empty());
  command.flag("--no-replay", options->no_replay,
               "Run nothing: kernels and Python references are the sender's");
  add_format(command, session);
  command.footer(
      "The folder has the report, the cases with their inputs, and the project. The cases run in\n"
      "a database of their own.\n"
      "Exit code: 0 shown, with the same verdicts; 1 a verdict differs; 2 no such archive, or a\n"
      "damaged one; 3 the cases could not be run.\n"
      "Example:\n"
      "  gpuemu open failed.gpuemu && xdg-open failed/report.html");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
