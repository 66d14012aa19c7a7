// fork, setsid, exec; the daemon's first words go to a file beside its socket.
#include "cli/commands/launch_daemon.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/unique_fd.h"

namespace gpuemu::cli {
namespace {

// More than a daemon says before it serves or gives up.
constexpr size_t kStartWordsMax = 64 << 10;

std::string program_of(const DaemonLaunch& launch) {
  const std::string beside = launch.program_folder + "/gpuemu-daemon";
  return ::access(beside.c_str(), X_OK) == 0 ? beside : "gpuemu-daemon";
}

std::string start_file(const std::string& socket_path) { return socket_path + ".start"; }

[[noreturn]] void exec_daemon(const DaemonLaunch& launch) {
  std::vector<std::string> words = {program_of(launch)};
  if (!launch.config_file.empty()) words.insert(words.end(), {"--config", launch.config_file});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const std::string text = "cannot run " + words[0] + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(3);
}

}  // namespace

Status launch_daemon(const DaemonLaunch& launch) {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::path(launch.socket_path).parent_path();
  if (!std::filesystem::exists(folder)) {
    std::filesystem::create_directories(folder, failed);
    if (failed) {
      return error(ErrorCode::Io, "cannot make {}: {}", folder.string(), failed.message());
    }
    ::chmod(folder.c_str(), 0700);
  }
  const std::string words = start_file(launch.socket_path);
  UniqueFd log(::open(words.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!log) return error(ErrorCode::Io, "cannot write {}: {}", words, std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) return error(ErrorCode::ResourceExhausted, "fork: {}", std::strerror(errno));
  if (child > 0) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return ok_status();
  }
  // In the child, and in its child: nothing but system calls until exec.
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  if (::chdir(launch.working_folder.c_str()) != 0) ::_exit(3);
  exec_daemon(launch);
}

std::optional<std::string> daemon_start_error(const std::string& socket_path) {
  const auto words = read_file(start_file(socket_path), kStartWordsMax);
  if (!words || words->empty()) return std::nullopt;
  std::string text = *words;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Status become_daemon(const DaemonLaunch& launch) { exec_daemon(launch); }

}  // namespace gpuemu::cli
