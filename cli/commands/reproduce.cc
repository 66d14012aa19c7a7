// `gpuemu reproduce SEED`: rebuilds a stored failure and runs it.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/text.h"
#include "cli/run/python_package.h"
#include "cli/session/job.h"
#include "common/protocol/findings.h"

namespace gpuemu::cli {
namespace {

struct ReproduceOptions {
  FailureChoice failure;
  bool verbose = false, exit_code = false, profile = false, details = false;
};

/// Returns nothing if that failed or was interrupted, which has been reported.
std::optional<Finished<ReproduceResultReply>> run_again(const ReproduceOptions& options,
                                                        Session& session) {
  const ReproduceRequest request{.seed = *options.failure.seed,
                                 .op_name = options.failure.op,
                                 .profile = options.profile,
                                 .details = options.details,
                                 .stream = true};
  // A single case has no partial result: after Ctrl-C the daemon stops it.
  return finish_job<ReproduceResultReply>(session, request, "reproduce", AfterCancel::Leave);
}

/// Returns whether this is a folder written by gpuemu.program: one op of a program with its inputs.
bool is_program_folder(const std::string& wanted) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(std::filesystem::path(wanted) / "case.json", ignored);
}

/// Returns the environment for Python: the package, the library and the judge of this installation.
std::map<std::string, std::string> folder_environment(const Session& session) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> made = session.environment;
  const std::string root = python_package_root(session.program_folder);
  if (!root.empty()) {
    std::string& path = made["PYTHONPATH"];
    path = path.empty() ? root : root + ":" + path;
  }
  const fs::path programs = session.program_folder;
  for (const auto& [name, file] :
       {std::pair("GPUEMU_LIBRARY", programs / "../lib/gpuemu/libgpuemu.so.1"),
        std::pair("GPUEMU_CHECK", programs / "gpuemu-check")}) {
    std::error_code ignored;
    if (!made.contains(name) && fs::exists(file, ignored)) {
      made[name] = file.lexically_normal().string();
    }
  }
  return made;
}

/// Replaces this process by Python, because judging needs NumPy. Returns only if there is no
/// Python.
void run_folder(const std::string& folder, const ReproduceOptions& options, Session& session) {
  std::vector<std::string> words = {"python3", "-m",       "gpuemu.program.reproduce",
                                    folder,    "--format", session.json() ? "json" : "text"};
  if (options.exit_code) words.emplace_back("--exit-code");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<std::string> settings;
  for (const auto& [name, value] : folder_environment(session)) {
    settings.push_back(fmt::format("{}={}", name, value));
  }
  std::vector<char*> environment;
  for (std::string& one : settings) environment.push_back(one.data());
  environment.push_back(nullptr);
  session.out.flush();
  execvpe(arguments[0], arguments.data(), environment.data());
  session.fail(error(ErrorCode::Unavailable,
                     "python3 cannot be run: {}; install Python 3 with NumPy, which judge a "
                     "program's folder",
                     std::strerror(errno)));
}

/// Returns the command to run next; "" if a finding's block already names one.
std::string next_step(const ValidationResult& result, const Session& session) {
  if (result.passed) return "gpuemu test " + result.op_name;
  if (report_style(session, session.format).blocks) return "";
  const bool of_values = std::ranges::all_of(result.failures, [](const auto& failure) {
    return finding_info(failure.kind).effect == FindingEffect::None;
  });
  return fmt::format("gpuemu {} {}", of_values ? "explain" : "debug", result.seed);
}

void run(ReproduceOptions& options, Session& session) {
  if (is_program_folder(options.failure.wanted)) {
    return run_folder(options.failure.wanted, options, session);
  }
  if (options.details && !session.json()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "--details adds members to JSON, but --format is {}; add --format json, or "
                       "leave out --details",
                       session.format));
    return;
  }
  if (!find_seed(options.failure, "reproduce", session)) return;
  const uint64_t seed = *options.failure.seed;
  const auto done = run_again(options, session);
  if (!done) return;
  const ReproduceResultReply& again = done->reply;
  const auto& info = again.result.repro_info;
  if (info && !info->program_folder.empty()) {
    if (is_program_folder(info->program_folder)) {
      return run_folder(info->program_folder, options, session);
    }
    session.fail(error(ErrorCode::NotFound,
                       "failure {} is of a program, whose folder {} no longer exists; "
                       "run the program's check() again to write a new one",
                       seed, info->program_folder));
    return;
  }
  session.exit_code = done->ended_with(session.exit_code);
  if (session.json()) session.print_json(done->json);
  if (again.result.seed != seed) {
    session.err << "note: no failure has seed " << seed << "; " << again.result.seed
                << " is the one that rounds to it\n";
  }
  if (!session.json()) {
    print_case_report(again.result, again.guess, session);
    if (options.verbose || session.verbose) print_inputs(again.inputs, session.out);
    print_printed(again.printed, session.out);
    if (!again.profile.empty()) print_profile(again.profile, session.out);
    const std::string next = again.rerun ? next_step(again.result, session) : "";
    if (!next.empty()) session.out << "next: `" << one_line(next) << "`\n";
  }
  if (!again.rerun) {
    session.err << "note: nothing was run, this is the stored verdict: the output came from a "
                   "client, or the op is no longer in gpuemu.toml\n";
    if (options.exit_code) {
      session.err << "gpuemu: --exit-code needs a case that the daemon can run\n";
      session.exit_code = ExitCode::Broken;
    }
    return;
  }
  if (options.profile && again.profile.empty()) {
    session.err
        << "note: no profile: only the emulator counts, for the kernels of gpuemu.toml; use "
           "backend = \"emulator\"\n";
  }
  if (options.exit_code && !again.result.passed && !done->incomplete) {
    session.exit_code = ExitCode::Findings;
  }
}

}  // namespace

void add_reproduce(Command app, Session& session) {
  auto options = std::make_shared<ReproduceOptions>();
  Command command = app.command("reproduce", "Recreate the inputs of a stored failure and run it");
  add_failure_choice(command, options->failure, TakesFolder::Yes);
  command.flag("-v,--verbose", options->verbose, "Show the inputs too");
  command.flag("--profile", options->profile,
               "Show instructions, memory traffic and divergence per source line");
  command.flag("--details", options->details,
               "With --format json: the error map, the PTX and the launches too");
  command.flag("--exit-code", options->exit_code,
               "Exit with 1 when it still fails, with 3 when it cannot be run");
  add_report_format(command, session);
  command.footer(
      "Examples:\n"
      "  gpuemu reproduce 6610381852238677408 --verbose\n"
      "  gpuemu reproduce 6610381852238677408 --exit-code    # for `git bisect run`\n"
      "  gpuemu reproduce program-42 --exit-code             # a folder of a program's check()");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
