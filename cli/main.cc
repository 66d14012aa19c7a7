// gpuemu: parses the command line and runs one subcommand.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/report/safe_output.h"
#include "common/base/environment.h"

namespace gpuemu::cli {
namespace {

// Set by the signal handler, which may do nothing else.
std::atomic<bool> interrupted{false};  // NOLINT: a signal handler can only use globals.

/// The time that a command has, after it is told to end, to cancel its job and write its reports.
constexpr unsigned kGraceSeconds = 30;

/// Returns whether both descriptors refer to the same file, as in `gpuemu test 2>&1 | tee log` or
/// on a terminal: text written to both would appear twice.
bool same_place(int one, int other) {
  struct stat first{}, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// `gpuemu failures | head -1`: the reader has what it wanted, which is no failure.
bool reader_has_left(int stream) {
  struct pollfd pipe{.fd = stream, .events = POLLOUT, .revents = 0};
  return ::poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0;
}

bool draws(const std::map<std::string, std::string>& variables, int stream) {
  const auto terminal = variables.find("TERM");
  const bool dumb = terminal == variables.end() || terminal->second == "dumb";
  return !dumb && ::isatty(stream) == 1;
}

/// Returns nothing if text does not go to a terminal. NO_COLOR: see no-color.org.
std::optional<TerminalStyle> style_of(const std::map<std::string, std::string>& variables) {
  if (!draws(variables, STDOUT_FILENO)) return std::nullopt;
  const auto set = [&](const char* name) {
    const auto found = variables.find(name);
    return found != variables.end() && !found->second.empty();
  };
  TerminalStyle style{.colours = !set("NO_COLOR") && !set("GPUEMU_NO_COLOR"), .columns = 0};
  struct winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.columns = size.ws_col;
  return style;
}

/// Returns whether JSON was requested: the caller then gets a document even if the command line is
/// wrong.
bool wants_json(int argc, char** argv) {
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    if (word == "--format=json") return true;
    if (word == "--format" && at + 1 < argc && std::string(argv[at + 1]) == "json") return true;
  }
  return false;
}

int wrong_usage(const std::string& problem, bool json) {
  if (json) {
    std::cout << encode_reply(ErrorReply{WireErrorCode::InvalidRequest, problem}) << '\n';
  }
  std::cerr << problem << '\n';
  return static_cast<int>(ExitCode::Usage);
}

void add_commands(Command app, Session& session) {
  app.flag("-v,--verbose", session.verbose, "Show the warnings of gpuemu.toml too");
  app.option("--config", session.config_file,
             "The gpuemu.toml to use\n(default: in this folder or the nearest above)")
      .type_name("FILE");
#define GPUEMU_ADD_COMMAND(name) add_##name(app, session);
  GPUEMU_COMMANDS(GPUEMU_ADD_COMMAND)
#undef GPUEMU_ADD_COMMAND
  // Must be last: otherwise subcommands would inherit it.
  app.footer(
      "A daemon does the work; commands start one when none runs.\n"
      "Exit code: 0 nothing wrong, 1 findings, 2 wrong use or gpuemu.toml, 3 could not run.\n"
      "Examples:\n"
      "  gpuemu test                   every op of gpuemu.toml\n"
      "  gpuemu failures --limit 5     what failed, with its seed\n"
      "  gpuemu reproduce SEED         the same inputs again\n"
      "  gpuemu minimize SEED          the smallest that still fails\n"
      "  gpuemu explain SEED           where its wrong value comes from\n"
      "  gpuemu debug SEED             a prompt to examine it");
}

/// Returns the arguments; `help COMMAND` is converted to `COMMAND --help`. Everything after `nvcc`
/// is passed to nvcc, unless it is only `--help`.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  const bool is_help = words.size() == 2 && words.back() == "--help";
  if (!words.empty() && words.front() == "nvcc" && !is_help) words.insert(words.begin() + 1, "--");
  return words;
}

int run(int argc, char** argv) {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = true; };
  ::sigaction(SIGINT, &action, nullptr);
  // If a CI system cancels or a terminal is closed, the daemon's job ends too. A command that is
  // not done after the grace period, or gets a second signal, ends as it would without a handler.
  action.sa_handler = [](int) {
    interrupted = true;
    ::alarm(kGraceSeconds);
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGHUP, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  std::error_code ignored;
  Session session(std::cout, std::cerr, interrupted);
  session.environment = environment_of_process();
  session.working_folder = std::filesystem::current_path(ignored).string();
  session.program_folder =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
  session.terminal = draws(session.environment, STDERR_FILENO);
  session.style = style_of(session.environment);
  session.same_streams = same_place(STDOUT_FILENO, STDERR_FILENO);
  Program program("gpuemu",
                  "Tests whether GPU kernels are correct: runs them on a GPU or an emulator\n"
                  "on generated inputs and compares the results with Python references.",
                  std::string("gpuemu v") + GPUEMU_VERSION);
  add_commands(program.root(), session);
  if (const auto problem = program.parse(arguments_of(argc, argv))) {
    return wrong_usage(*problem, wants_json(argc, argv));
  }
  std::cout.flush();
  if (!std::cout && !reader_has_left(STDOUT_FILENO)) {
    std::cerr << "gpuemu: cannot write the output\n";
    return static_cast<int>(ExitCode::Broken);
  }
  return static_cast<int>(session.exit_code);
}

/// Ensures, while it exists, that nothing bypasses it to the standard streams.
class SafeStandardStreams {
 public:
  SafeStandardStreams() {
    std::cout.rdbuf(&out_);
    std::cerr.rdbuf(&err_);
  }
  ~SafeStandardStreams() {
    std::cout.rdbuf(to_out_);
    std::cerr.rdbuf(to_err_);
  }
  SafeStandardStreams(const SafeStandardStreams&) = delete;
  SafeStandardStreams& operator=(const SafeStandardStreams&) = delete;

 private:
  std::streambuf* to_out_ = std::cout.rdbuf();
  std::streambuf* to_err_ = std::cerr.rdbuf();
  SafeOutput out_{*to_out_}, err_{*to_err_};
};

}  // namespace
}  // namespace gpuemu::cli

int GPUEMU_MAIN(int argc, char** argv) {
  const gpuemu::cli::SafeStandardStreams safe;
  try {
    return gpuemu::cli::run(argc, argv);
  } catch (const std::exception& surprise) {  // Last resort.
    std::cerr << "gpuemu: " << surprise.what() << '\n';
    return static_cast<int>(gpuemu::cli::ExitCode::Broken);
  }
}
