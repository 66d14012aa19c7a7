// Uses fork, setsid and exec; the daemon's start messages go to a file beside its socket.
#include "cli/session/launch_daemon.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/build_id.h"
#include "common/base/files.h"
#include "common/base/private_path.h"
#include "common/base/unique_fd.h"

namespace gpuemu::cli {
namespace {

// More than a daemon prints before it serves or gives up.
constexpr size_t kStartWordsMax = 64 << 10;

constexpr char kNone = 0, kUnknown = '?';

/// Returns the state letter of the process from /proc; kNone if there is no such process.
char state_of(pid_t process) {
  const auto text = read_file(fmt::format("/proc/{}/stat", process), kStartWordsMax);
  if (!text) return text.error().code == ErrorCode::NotFound ? kNone : kUnknown;
  // The name is in parentheses and may contain any; the state follows the last one.
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text->size()) return kUnknown;
  return (*text)[name_end + 2];
}

std::string program_of(const DaemonLaunch& launch) {
  const std::string beside = launch.program_folder + "/gpuemu-daemon";
  return ::access(beside.c_str(), X_OK) == 0 ? beside : "gpuemu-daemon";
}

std::string start_file(const std::string& socket_path) { return socket_path + ".start"; }

std::vector<std::string> serving_options(const DaemonLaunch& launch) {
  return launch.no_workers ? std::vector<std::string>{"--no-workers"} : std::vector<std::string>{};
}

[[noreturn]] void exec_daemon(const DaemonLaunch& launch, std::vector<std::string> options = {}) {
  std::vector<std::string> words = {program_of(launch)};
  words.insert(words.end(), options.begin(), options.end());
  if (!launch.config_file.empty()) words.insert(words.end(), {"--config", launch.config_file});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const std::string text = "cannot run " + words[0] + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(3);
}

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return error(ErrorCode::ResourceExhausted, "pipe: {}", std::strerror(errno));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

struct Said {
  std::string text;
  int exit_code = -1;  ///< -1 if a signal ended it.
};

/// Runs the daemon's program to its end with `input`, which must fit into a pipe. Returns what it
/// wrote to `descriptor` (1 or 2).
Result<Said> run_program(const DaemonLaunch& launch, const std::vector<std::string>& options,
                         const std::string& input, int descriptor) {
  Pipe in = GPUEMU_TRY(make_pipe()), out = GPUEMU_TRY(make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return error(ErrorCode::ResourceExhausted, "fork: {}", std::strerror(errno));
  if (child == 0) {
    ::dup2(in.read.get(), STDIN_FILENO);
    ::dup2(out.write.get(), descriptor);
    if (::chdir(launch.working_folder.c_str()) == 0) exec_daemon(launch, options);
    ::_exit(3);
  }
  in.read.reset();
  out.write.reset();
  const ssize_t sent = ::write(in.write.get(), input.data(), input.size());
  in.write.reset();
  Said said;
  char part[4096];
  for (ssize_t got = 1; got != 0;) {
    got = ::read(out.read.get(), part, sizeof part);
    if (got < 0 && errno != EINTR) break;
    if (got > 0) said.text.append(part, static_cast<size_t>(got));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) said.exit_code = WEXITSTATUS(status);
  if (sent != static_cast<ssize_t>(input.size())) said.exit_code = -1;
  return said;
}

}  // namespace

std::string daemon_build(const DaemonLaunch& launch) { return build_id_of(program_of(launch)); }

Result<pid_t> launch_daemon(const DaemonLaunch& launch) {
  GPUEMU_TRY(make_private_folder(std::filesystem::path(launch.socket_path).parent_path()));
  const std::string words = start_file(launch.socket_path);
  const UniqueFd log = GPUEMU_TRY(open_private_file(words));
  if (::ftruncate(log.get(), 0) != 0) {
    return error(ErrorCode::Io, "cannot write {}: {}", words, std::strerror(errno));
  }
  const Pipe told_pid = GPUEMU_TRY(make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return error(ErrorCode::ResourceExhausted, "fork: {}", std::strerror(errno));
  if (child > 0) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    pid_t daemon = -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
        ::read(told_pid.read.get(), &daemon, sizeof daemon) != sizeof daemon || daemon < 0) {
      return error(ErrorCode::ResourceExhausted, "cannot start a process for the daemon");
    }
    return daemon;
  }
  // The child and its own child may only make system calls until exec.
  ::setsid();
  const pid_t daemon = ::fork();
  if (daemon != 0) {
    const bool told = ::write(told_pid.write.get(), &daemon, sizeof daemon) == sizeof daemon;
    ::_exit(told ? 0 : 3);
  }
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  if (::chdir(launch.working_folder.c_str()) != 0) ::_exit(3);
  exec_daemon(launch, serving_options(launch));
}

std::optional<std::string> daemon_start_words(const std::string& socket_path) {
  const auto words = read_file(start_file(socket_path), kStartWordsMax);
  if (!words || words->empty()) return std::nullopt;
  std::string text = *words;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::optional<std::string> database_problem(const DaemonLaunch& launch) {
  auto said = run_program(launch, {"--check-database"}, "", STDERR_FILENO);
  if (!said || said->exit_code != 3) return std::nullopt;
  std::string text = std::move(said->text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) return std::nullopt;
  return text;
}

Result<std::string> answer_without_daemon(const DaemonLaunch& launch,
                                          const std::vector<std::string>& options,
                                          const std::string& message) {
  Said said = GPUEMU_TRY(run_program(launch, options, message, STDOUT_FILENO));
  if (said.exit_code == 0) return std::move(said.text);
  return error(ErrorCode::Unavailable, "{} could not answer without a daemon", program_of(launch));
}

bool process_runs(pid_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return false;
  const char state = state_of(process);
  return state != kNone && state != 'Z' && state != 'X';
}

bool process_is_suspended(pid_t process) { return state_of(process) == 'T'; }

std::optional<pid_t> daemon_behind(const std::string& db_path, const std::string& socket_path) {
  const auto lock = read_file(db_path + ".lock", kStartWordsMax);
  if (!lock) return std::nullopt;
  pid_t process = 0;
  const char* const end = lock->data() + lock->size();
  const auto number = std::from_chars(lock->data(), end, process);
  if (number.ec != std::errc() || process <= 0) return std::nullopt;
  if (std::string_view(number.ptr, end) != " serves " + socket_path) return std::nullopt;
  // The file outlives its daemon, and another process may have the same number now.
  const auto name = read_file(fmt::format("/proc/{}/comm", process), kStartWordsMax);
  if (!name || *name != "gpuemu-daemon\n" || !process_runs(process)) return std::nullopt;
  return process;
}

Status become_daemon(const DaemonLaunch& launch) { exec_daemon(launch, serving_options(launch)); }

}  // namespace gpuemu::cli
