// `gpuemu run -- CMD`: a program that was written for a GPU, on the emulator with its checks.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/run/child.h"
#include "cli/run/run_options.h"
#include "cli/run/suppressions.h"
#include "common/base/files.h"
#include "runtime/run_record/run_lines.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

/// The folder in which the processes leave their findings. It goes away.
class PrivateFolder {
 public:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  ~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<std::string> make_private_folder() {
  std::error_code failed;
  std::string name = (fs::temp_directory_path(failed) / "gpuemu-run-XXXXXX").string();
  if (failed || ::mkdtemp(name.data()) == nullptr) {
    return error(ErrorCode::Io, "cannot make a folder like {}; set TMPDIR to a folder to write in",
                 name);
  }
  return name;
}

/// Whether the finding changes the exit code.
bool counts(const RunFinding& finding, const std::vector<std::string>& fail_on) {
  if (finding.suppressed) return false;
  if (fail_on.empty()) return finding.severity != RunSeverity::Note;
  return std::ranges::find(fail_on, finding.kind) != fail_on.end();
}

int exit_code_of(const RunRecords& records, const Ended& ended, const RunOptions& options) {
  if (ended.exit_code != 0) return ended.exit_code;
  const std::vector<std::string> fail_on = words_of(options.fail_on);
  const bool failed = std::ranges::any_of(
      records.findings, [&](const RunFinding& one) { return counts(one, fail_on); });
  return failed ? static_cast<int>(options.error_exit_code) : 0;
}

std::string report_text(const RunRecords& records, const std::vector<Suppression>& entries) {
  std::string text;
  for (const RunFinding& one : records.findings) {
    if (!one.suppressed) text += text_of(one) + "\n";
  }
  for (const RunUnsupported& one : records.unsupported) {
    text += fmt::format("gpuemu: {} is not supported, called {} times\n", one.call, one.count);
  }
  for (const Suppression& one : entries) {
    if (one.matched != 0) continue;
    text += fmt::format("gpuemu: the suppression at {} matches no finding\n", one.place);
  }
  const auto suppressed = std::ranges::count_if(records.findings, &RunFinding::suppressed);
  text += summary_of(records.findings, records.processes);
  return text + (suppressed == 0 ? "\n" : fmt::format(", {} suppressed\n", suppressed));
}

Status write_report(const std::string& text, const RunOptions& options, Session& session) {
  if (!options.output.empty()) return write_file(options.output, text);
  session.err << text << std::flush;
  return ok_status();
}

Result<std::vector<Suppression>> all_suppressions(const RunOptions& options) {
  std::vector<Suppression> all;
  for (const std::string& file : options.suppress) {
    for (Suppression& one : GPUEMU_TRY(read_suppressions(file))) all.push_back(std::move(one));
  }
  return all;
}

void print_environment(const std::map<std::string, std::string>& environment,
                       const RunOptions& options, Session& session) {
  for (const auto& [name, value] : environment) {
    const auto before = session.environment.find(name);
    if (before != session.environment.end() && before->second == value) continue;
    session.out << name << '=' << value << '\n';
  }
  for (const std::string& word : options.command) {
    session.out << (&word == options.command.data() ? "" : " ") << word;
  }
  session.out << '\n';
}

Result<int> run(const RunOptions& options, Session& session) {
  const DriverSettings settings = GPUEMU_TRY(driver_settings(options));
  std::vector<Suppression> entries = GPUEMU_TRY(all_suppressions(options));
  std::optional<std::chrono::milliseconds> timeout;
  if (!options.timeout.empty()) {
    timeout = std::chrono::milliseconds(GPUEMU_TRY(parse_duration("--timeout", options.timeout)));
  }
  const std::string library = GPUEMU_TRY(find_library_folder(session.program_folder));
  const PrivateFolder folder(GPUEMU_TRY(make_private_folder()));
  const auto environment = program_environment(session.environment, library, folder.path());
  if (options.dry_run) {
    print_environment(environment, options, session);
    return 0;
  }
  GPUEMU_TRY(write_run_settings(folder.path(), settings));
  const Ended ended = run_program(options.command, environment, timeout);
  if (!ended.started) session.err << "gpuemu: " << ended.problem << '\n';
  RunRecords records = GPUEMU_TRY(read_run_records(folder.path()));
  suppress(records.findings, entries);
  const int code = exit_code_of(records, ended, options);
  if (!ended.started) return code;
  if (session.json()) {
    const RunProgram program{options.command, code, ended.exit_code, ended.signal, ended.seconds};
    GPUEMU_TRY(write_report(run_json(records, program), options, session));
  } else if (!options.quiet || !records.findings.empty()) {
    GPUEMU_TRY(write_report(report_text(records, entries), options, session));
  }
  if (!options.suppress_template.empty()) {
    GPUEMU_TRY(write_file(options.suppress_template, suppression_template(records.findings)));
  }
  return code;
}

void add_report_options(Command command, RunOptions& options, Session& session) {
  add_format(command, session);
  command.option("--output", options.output, "Write the report there (default: stderr)")
      .type_name("FILE");
  command
      .option("--fail-on", options.fail_on,
              "Kinds that change the exit code (default: all but notes)")
      .type_name("KIND,...");
  command
      .option("--error-exitcode", options.error_exit_code,
              "What a clean exit becomes when there are findings; 0: never")
      .between(0, 255)
      .show_default();
  command.option("--suppress", options.suppress, "Findings that are accepted: a TOML file")
      .type_name("FILE")
      .one_word()
      .take_all();
  command
      .option("--suppress-template", options.suppress_template,
              "Write entries for the findings of this run")
      .type_name("FILE");
  command.option("--max-findings", options.findings_max, "Different findings of each process")
      .show_default();
  command.flag("--quiet", options.quiet, "Report only when there are findings");
}

}  // namespace

void add_run(Command app, Session& session) {
  auto options = std::make_shared<RunOptions>();
  Command command =
      app.command("run", "Run a GPU program on the emulator and report what it does wrong");
  command.option("command", options->command, "The program and its arguments, behind --")
      .type_name("-- CMD ARGS...")
      .required();
  command.option("--arch", options->arch, "Architecture of the device")
      .type_name("sm_XX")
      .show_default();
  command
      .option("--devices", options->devices,
              "How many devices, or a list with mebibytes: sm_80,sm_90:16384")
      .type_name("LIST")
      .show_default();
  command.option("--memory", options->memory, "Memory of each device")
      .type_name("SIZE")
      .show_default();
  command
      .option("--checks", options->checks,
              "memory, init, race, sync, api by default; +leak adds, -init takes away")
      .type_name("LIST");
  add_report_options(command, *options, session);
  command.option("--timeout", options->timeout, "End the program after so long, as in 90s or 10m");
  command.option("--launch-timeout", options->launch_timeout_s, "Seconds that a kernel may take")
      .between(1, 86400)
      .show_default();
  command
      .option(
          "--on-finding", options->on_finding,
          "The call that waits for a faulty kernel fails (report), all later\nones do (sticky), "
          "none does (ignore)")
      .one_of({"report", "sticky", "ignore"});
  command.option("--schedule-seed", options->schedule_seed,
                 "Draw the order of independent work from this seed");
  command.option("--cuda-version", options->cuda_version, "Version that the driver says it has")
      .type_name("X.Y")
      .show_default();
  command.flag("--dry-run", options->dry_run, "Print what would be set, and run nothing");
  command.footer(
      "The report goes to stderr when the program has ended. Exit code: the program's\n"
      "own when it is not 0, else 1 when there are findings.\n"
      "Example: gpuemu run -- ./my_test --size 1000");
  command.callback([options, &session] {
    const Result<int> code = run(*options, session);
    session.exit_code = code ? static_cast<ExitCode>(*code) : session.fail(code.error());
  });
}

}  // namespace gpuemu::cli
