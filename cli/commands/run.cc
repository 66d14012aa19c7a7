// Implements `gpuemu run -- CMD`, which runs a GPU program on the emulator and reports its
// findings.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/run_documents.h"
#include "cli/run/child.h"
#include "cli/run/program_check.h"
#include "cli/run/python_package.h"
#include "cli/run/run_options.h"
#include "cli/run/suppressions.h"
#include "common/base/files.h"
#include "common/base/text.h"
#include "runtime/fidelity/fidelity_report.h"
#include "runtime/run_record/run_lines.h"
#include "runtime/run_record/run_trace.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

/// The folder for settings and findings of a run; removed with the object.
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
    return error(ErrorCode::Io, "cannot make a folder like {}: {}; set TMPDIR to a writable folder",
                 name, failed ? failed.message() : std::strerror(errno));
  }
  return name;
}

/// Whether the finding changes the exit code.
bool counts(const RunFinding& finding, const FailOn& fail_on) {
  if (finding.suppressed) return false;
  if (finding.kind == kRunUnmeasured) return true;
  if (fail_on.kinds.empty()) return finding.severity != RunSeverity::Note;
  return std::ranges::find(fail_on.kinds, finding.kind) != fail_on.kinds.end();
}

int exit_code_of(const RunRecords& records, const Ended& ended, const RunOptions& options,
                 const FailOn& fail_on) {
  if (ended.exit_code != 0) return ended.exit_code;
  const bool failed = std::ranges::any_of(
      records.findings, [&](const RunFinding& one) { return counts(one, fail_on); });
  return failed ? static_cast<int>(options.error_exit_code) : 0;
}

/// Describes how the program ended; "" if it ended by itself.
std::string end_text(const Ended& ended, const RunOptions& options) {
  const std::string& program = options.command.front();
  if (!ended.started) return fmt::format("gpuemu: {}\n", ended.problem);
  if (ended.timed_out) {
    return fmt::format("gpuemu: {} was ended after --timeout {}\n", program, options.timeout);
  }
  if (ended.signal == 0) return "";
  return fmt::format("gpuemu: {} was killed by signal {} ({})\n", program, ended.signal,
                     ::strsignal(ended.signal));
}

std::string report_text(const RunRecords& records, const std::vector<Suppression>& entries) {
  std::string text;
  for (const RunFinding& one : records.findings) {
    if (!one.suppressed) text += text_of(one) + "\n";
  }
  for (const RunUnsupported& one : records.unsupported) {
    text += fmt::format("gpuemu: {} is not supported; it was called {}\n", one.call,
                        counted(one.count, "time"));
  }
  for (const Suppression& one : entries) {
    if (one.matched != 0) continue;
    text += fmt::format("gpuemu: the suppression at {} matches no finding; remove it\n", one.place);
  }
  text += fidelity_text(records.fidelity);
  const auto suppressed = std::ranges::count_if(records.findings, &RunFinding::suppressed);
  text += summary_of(records.findings, records.processes);
  return text + (suppressed == 0 ? "\n" : fmt::format(", {} suppressed\n", suppressed));
}

using Document = std::string (*)(const RunRecords& records, const RunProgram& program,
                                 const std::string& folder);

struct Format {
  const char* name;
  Document document;  ///< Null for text.
};

constexpr Format kFormats[] = {
    {"text", nullptr},
    {"json", [](const RunRecords& records, const RunProgram& program,
                const std::string&) { return run_json(records, program); }},
    {"sarif", run_sarif},
    {"junit", [](const RunRecords& records, const RunProgram& program, const std::string&) {
       return run_junit(records, program);
     }}};

/// Returns null for text and for unknown formats.
Document document_of(const std::string& format) {
  const auto found = std::ranges::find(kFormats, format, &Format::name);
  return found == std::end(kFormats) ? nullptr : found->document;
}

Status write_report(const std::string& text, const RunOptions& options, Session& session) {
  if (!options.output.empty()) return write_file(options.output, text);
  session.err << text << std::flush;
  return ok_status();
}

/// Checks that all files can be written before the program runs, perhaps for hours.
Status check_files(const RunOptions& options) {
  const std::pair<const char*, const std::string*> files[] = {
      {"--output", &options.output},
      {"--suppress-template", &options.suppress_template},
      {"--trace", &options.trace},
      {"--fidelity", &options.fidelity}};
  for (const auto& [option, path] : files) {
    if (path->empty() || can_write_file(*path)) continue;
    return error(ErrorCode::InvalidArgument, "{} '{}': cannot write this file", option, *path);
  }
  return ok_status();
}

Result<std::vector<Suppression>> all_suppressions(const RunOptions& options) {
  std::vector<Suppression> all;
  for (const std::string& file : options.suppress) {
    Result<std::vector<Suppression>> read = read_suppressions(file);
    if (!read) return error(ErrorCode::InvalidArgument, "--suppress: {}", read.error().message);
    for (Suppression& one : *read) all.push_back(std::move(one));
  }
  return all;
}

/// Returns whether the report lists the classes of instructions.
bool shows_fidelity(const RunRecords& records, const RunOptions& options, const FailOn& fail_on,
                    const Session& session) {
  if (!options.fidelity.empty() || fail_on.unmeasured) return true;
  if (document_of(session.format) != nullptr) return session.format == "json";
  return !options.quiet || !records.findings.empty();
}

/// Classifies the instructions of the kernels, and adds findings for modelled ones if that was
/// requested. If only a summary is needed, a failure is merely reported.
Status add_fidelity(RunRecords& records, const std::string& folder, const RunOptions& options,
                    const FailOn& fail_on, Session& session) {
  if (!shows_fidelity(records, options, fail_on, session)) return ok_status();
  Result<std::vector<RunFidelity>> fidelity = fidelity_of(records, folder);
  if (!fidelity && options.fidelity.empty() && !fail_on.unmeasured) {
    session.err << "gpuemu: the fidelity report is missing: " << fidelity.error().message << '\n';
    return ok_status();
  }
  records.fidelity = GPUEMU_TRY(std::move(fidelity));
  if (!fail_on.unmeasured) return ok_status();
  for (RunFinding& one : unmeasured(records.fidelity)) {
    if (!records.processes.empty()) one.process = records.processes.front().pid;
    records.findings.push_back(std::move(one));
  }
  return ok_status();
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
  const FailOn fail_on = GPUEMU_TRY(fail_on_of(options));
  std::vector<Suppression> entries = GPUEMU_TRY(all_suppressions(options));
  std::optional<std::chrono::milliseconds> timeout;
  if (!options.timeout.empty()) {
    timeout = std::chrono::milliseconds(GPUEMU_TRY(parse_duration("--timeout", options.timeout)));
  }
  const std::string library = GPUEMU_TRY(find_library_folder(session.program_folder));
  const PrivateFolder folder(GPUEMU_TRY(make_private_folder()));
  auto environment = program_environment(session.environment, library, folder.path());
  add_python_start(environment, python_package_root(session.program_folder),
                   prepared_packages(options));
  if (options.torch_forced) environment[kTorchForcedVariable] = "1";
  environment[kAutotuneVariable] = options.autotune;
  if (options.dry_run) {
    print_environment(environment, options, session);
    return 0;
  }
  GPUEMU_TRY(check_files(options));
  GPUEMU_TRY(check_program(options.command.front(), environment));
  GPUEMU_TRY(write_run_settings(folder.path(), settings));
  const Ended ended = run_program(options.command, environment, timeout);
  session.err << end_text(ended, options);
  if (ended.left_running) {
    session.err << fmt::format(
        "gpuemu: processes that {} started still run; what they do from here on is not checked: "
        "let it wait for them\n",
        options.command.front());
  }
  RunRecords records = GPUEMU_TRY(read_run_records(folder.path()));
  GPUEMU_TRY(add_fidelity(records, folder.path(), options, fail_on, session));
  suppress(records.findings, entries);
  const int code = exit_code_of(records, ended, options, fail_on);
  if (!ended.started) return code;
  const RunProgram program{options.command, code,          ended.exit_code,
                           ended.signal,    ended.seconds, ended.left_running};
  if (const auto document = document_of(session.format); document != nullptr) {
    GPUEMU_TRY(write_report(document(records, program, session.working_folder), options, session));
  } else if (!options.quiet || !std::ranges::all_of(records.findings, &RunFinding::suppressed)) {
    GPUEMU_TRY(write_report(report_text(records, entries), options, session));
  }
  if (!options.trace.empty()) GPUEMU_TRY(write_trace(folder.path(), options.trace));
  if (!options.fidelity.empty()) {
    GPUEMU_TRY(write_file(options.fidelity, fidelity_json(records.fidelity)));
  }
  if (!options.suppress_template.empty()) {
    GPUEMU_TRY(write_file(options.suppress_template, suppression_template(records.findings)));
  }
  return code;
}

void add_report_options(Command command, RunOptions& options, Session& session) {
  std::vector<std::string> formats;
  for (const Format& one : kFormats) formats.emplace_back(one.name);
  command
      .option("--format", session.format,
              "For people (text), programs (json), code scanning (sarif), CI (junit)")
      .one_of(formats);
  command.option("--output", options.output, "Write the report to FILE instead of stderr")
      .type_name("FILE");
  command
      .option("--fail-on", options.fail_on,
              "Kinds of findings that change the exit code\n(default: all but notes), and "
              "'unmeasured' for instructions whose\nbits are modelled")
      .type_name("KIND,...");
  command
      .option("--error-exitcode", options.error_exit_code,
              "Exit code when the program ends with 0 and there are findings")
      .check(whole_number(0, 255))
      .show_default();
  command
      .option("--suppress", options.suppress,
              "Accept the findings that a TOML file lists; may be repeated")
      .type_name("FILE")
      .one_word()
      .take_all();
  command
      .option("--suppress-template", options.suppress_template,
              "Write a TOML file for --suppress with the findings of this run")
      .type_name("FILE");
  command
      .option("--trace", options.trace,
              "Write when calls and kernels ran to FILE, for chrome://tracing or\nui.perfetto.dev")
      .type_name("FILE");
  command
      .option("--fidelity", options.fidelity,
              "Count the executed instructions by form, and write to FILE as JSON how\n"
              "far their bits are known to be those of a GPU; kernels are slower")
      .type_name("FILE");
  command
      .option("--max-findings", options.findings_max,
              "Record at most N different findings per process")
      .type_name("N")
      .check(whole_number(1, 1'000'000))
      .show_default();
  command.flag("--quiet", options.quiet, "Print a report only when there are findings");
}

/// Adds options for what the program sees of the driver and its devices.
void add_driver_options(Command command, RunOptions& options) {
  struct TextOption {
    const char *name, *type, *help;
    std::string* value;
  };
  const TextOption all[] = {
      {"--arch", "sm_XX", "Architecture of the devices", &options.arch},
      {"--devices", "LIST",
       "Number of devices, or their architectures and mebibytes of memory:\nsm_80,sm_90:16384",
       &options.devices},
      {"--memory", "SIZE", "Memory of each device", &options.memory},
      {"--cuda-version", "X.Y", "CUDA version that the driver reports; hides newer functions",
       &options.cuda_version}};
  for (const TextOption& one : all) {
    command.option(one.name, *one.value, one.help).type_name(one.type).show_default();
  }
}

/// Adds options for changes to Python packages that the program imports.
void add_python_options(Command command, RunOptions& options) {
  command
      .option(
          "--autotune", options.autotune,
          "Which configurations of Triton's autotuner run: the first that fits the device,\nor all")
      .one_of({"first", "all"})
      .show_default();
  command.flag("--torch", options.torch_forced,
               "Give PyTorch the emulated device although it sees a GPU");
  command.flag("--no-torch", options.no_torch, "Leave PyTorch as it is, without a cuda device");
  command.flag("--no-triton", options.no_triton,
               "Leave Triton as it is; it makes machine code, which does not run");
  command.flag("--no-numba", options.no_numba, "Leave Numba as it is, without lines in its PTX");
}

}  // namespace

void add_run(Command app, Session& session) {
  auto options = std::make_shared<RunOptions>();
  Command command = app.command("run", "Run a GPU program on the emulator and report its errors");
  command.option("command", options->command, "The program and its arguments")
      .type_name("-- CMD ARGS...")
      .required();
  add_driver_options(command, *options);
  command
      .option("--checks", options->checks,
              "What to check: +leak adds to the default\nmemory,init,race,sync,stream,api, -init "
              "removes "
              "from it, names alone replace it")
      .type_name("LIST");
  add_report_options(command, *options, session);
  command
      .option("--timeout", options->timeout,
              "End the program after this time, such as 90s or 10m; exit code 124")
      .type_name("TIME");
  command
      .option("--launch-timeout", options->launch_timeout_s,
              "End a kernel after this many seconds\n"
              "(default: after 30 seconds in which none of its blocks ended)")
      .type_name("S")
      .check(whole_number(1, 86400));
  command
      .option("--on-finding", options->on_finding,
              "What a fault of a kernel does: the next call that waits fails (report),\nthat call "
              "and all later ones fail (sticky), no call fails (ignore)")
      .one_of({"report", "sticky", "ignore"})
      .show_default();
  command
      .option(
          "--schedule-seed", options->schedule_seed,
          "Order the work of independent streams at random, by this seed;\n0: by their priorities")
      .type_name("N")
      .check(whole_number(0, std::numeric_limits<uint64_t>::max()))
      .show_default();
  add_python_options(command, *options);
  command.flag("--dry-run", options->dry_run,
               "Print the environment and the command, and run nothing");
  command.footer(
      "The report goes to stderr when the program ends. Exit code: the program's own\n"
      "when it is not 0, else 1 when there are findings.\n"
      "Example: gpuemu run -- ./my_test --size 1000");
  command.callback([options, &session] {
    const Result<int> code = run(*options, session);
    session.exit_code = code ? static_cast<ExitCode>(*code) : session.fail(code.error());
  });
}

}  // namespace gpuemu::cli
