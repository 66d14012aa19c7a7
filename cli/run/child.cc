#include "cli/run/child.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuemu::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr std::chrono::seconds kGrace{5};

// Global, because a signal handler takes no argument.
std::atomic<pid_t> child_of_signals = 0;  // NOLINT
// A signal that arrived before the program had a process id; it is passed on afterwards.
std::atomic<int> early_signal = 0;  // NOLINT

/// Passes a signal on, unless it came from the terminal, which signals the program itself.
void pass_on(int signal, siginfo_t* info, void*) {
  const pid_t child = child_of_signals;
  const bool of_terminal = info->si_code == SI_KERNEL;
  if (of_terminal) return;
  if (child > 0) {
    ::kill(child, signal);
  } else {
    early_signal = signal;
  }
}

/// Passes signals on to the program while it lives.
class PassedSignals {
 public:
  PassedSignals() {
    struct sigaction action{};
    action.sa_sigaction = pass_on;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESTART);
    for (size_t i = 0; i < std::size(kPassedOn); ++i) {
      ::sigaction(kPassedOn[i], &action, &before_[i]);
    }
  }
  ~PassedSignals() {
    child_of_signals = 0;
    for (size_t i = 0; i < std::size(kPassedOn); ++i) {
      ::sigaction(kPassedOn[i], &before_[i], nullptr);
    }
  }
  PassedSignals(const PassedSignals&) = delete;
  PassedSignals& operator=(const PassedSignals&) = delete;

 private:
  struct sigaction before_[std::size(kPassedOn)]{};
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> made;
  for (std::string& word : words) made.push_back(word.data());
  made.push_back(nullptr);
  return made;
}

/// Starts the command with default signal handling. Returns 0 or an errno value.
int start(std::vector<std::string> command, const std::map<std::string, std::string>& environment,
          pid_t& child) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigemptyset(&all);
  for (const int signal : kPassedOn) sigaddset(&all, signal);
  sigaddset(&all, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int failed = ::posix_spawnp(&child, command[0].c_str(), nullptr, &attributes,
                                    pointers_to(command).data(), pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  return failed;
}

/// Waits for the child until `end`. Returns true when the child ended.
bool wait_until(pid_t child, Clock::time_point end, int& status) {
  if (end == Clock::time_point::max()) {
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return true;
  }
  constexpr std::chrono::milliseconds kStep{20};
  while (Clock::now() < end) {
    if (::waitpid(child, &status, WNOHANG) == child) return true;
    std::this_thread::sleep_for(kStep);
  }
  return false;
}

/// Returns whether processes below this one go on. Those that are about to end, such as helpers
/// that wait for the end of the program, get a moment for it.
bool others_run() {
  constexpr std::chrono::milliseconds kMoment{300}, kStep{10};
  for (const Clock::time_point end = Clock::now() + kMoment; Clock::now() < end;) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return false;
    if (ended == 0) std::this_thread::sleep_for(kStep);
  }
  return true;
}

}  // namespace

Ended run_program(const std::vector<std::string>& command,
                  const std::map<std::string, std::string>& environment,
                  std::optional<std::chrono::milliseconds> timeout) {
  Ended ended;
  const PassedSignals signals;
  const Clock::time_point began = Clock::now();
  pid_t child = 0;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // See others_run().
  if (const int failed = start(command, environment, child); failed != 0) {
    ended.started = false;
    ended.exit_code = failed == ENOENT ? kNotFound : kNotExecutable;
    ended.problem = fmt::format("cannot run {}: {}", command[0], std::strerror(failed));
    for (const char* ending : {".cu", ".cuh", ".cpp", ".cc", ".ptx"}) {
      if (!command[0].ends_with(ending)) continue;
      ended.problem +=
          "; it is a source: name the program that is built from it, or write a gpuemu.toml with "
          "`gpuemu init` and check its kernels with `gpuemu test`";
    }
    return ended;
  }
  child_of_signals = child;
  if (const int early = early_signal.exchange(0); early != 0) ::kill(child, early);
  int status = 0;
  const Clock::time_point end = timeout ? began + *timeout : Clock::time_point::max();
  if (!wait_until(child, end, status)) {
    ended.timed_out = true;
    ::kill(child, SIGTERM);
    if (!wait_until(child, Clock::now() + kGrace, status)) {
      ::kill(child, SIGKILL);
      wait_until(child, Clock::time_point::max(), status);
    }
  }
  ended.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  ended.left_running = others_run();
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.exit_code = ended.timed_out     ? kTimedOut
                    : ended.signal != 0 ? kSignalled + ended.signal
                                        : WEXITSTATUS(status);
  return ended;
}

}  // namespace gpuemu::cli
