#include "runtime/compile/child.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/process/acting_user.h"
#include "common/process/spawn.h"

namespace gpuemu::compile {
namespace {

namespace fs = std::filesystem;

/// A large template library takes a minute to compile; beyond this limit the compiler hangs.
constexpr std::chrono::seconds kCompileTimeout{300};
constexpr std::chrono::milliseconds kPollInterval{5};

std::vector<std::string> environment(const std::string& path_first) {
  std::vector<std::string> all;
  bool has_path = false;
  for (std::string& text : environment_of_thread()) {
    if (!path_first.empty() && text.starts_with("PATH=")) {
      text.insert(5, path_first + ":");
      has_path = true;
    }
    all.push_back(std::move(text));
  }
  if (!path_first.empty() && !has_path) all.push_back("PATH=" + path_first);
  return all;
}

bool is_set(const std::atomic<bool>* cancel) { return cancel != nullptr && *cancel; }

Error cancelled(const std::string& program) {
  return error(ErrorCode::Cancelled, "{} was stopped: the request was cancelled", program);
}

void end_group(pid_t child) {
  int status = 0;
  ::kill(-child, SIGKILL);
  ::waitpid(child, &status, 0);
}

Result<int> wait_for(pid_t child, const std::string& program, const std::atomic<bool>* cancel) {
  const auto deadline = std::chrono::steady_clock::now() + kCompileTimeout;
  int status = 0;
  while (true) {
    const pid_t done = ::waitpid(child, &status, WNOHANG);
    if (done == child) break;
    if (done < 0 && errno != EINTR) {
      return error(ErrorCode::Internal, "waiting for {} failed: {}", program,
                   std::generic_category().message(errno));
    }
    if (is_set(cancel)) {
      end_group(child);
      return cancelled(program);
    }
    if (std::chrono::steady_clock::now() > deadline) {
      end_group(child);
      return error(ErrorCode::Timeout, "{} did not end within {} s", program,
                   kCompileTimeout.count());
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ScratchFolder> ScratchFolder::create() {
  std::error_code failed;
  std::string path = (fs::temp_directory_path(failed) / "gpuemu-compile-XXXXXX").string();
  if (failed || ::mkdtemp(path.data()) == nullptr) {
    return error(ErrorCode::Io, "cannot make the folder {}: set TMPDIR to a writable folder", path);
  }
  return ScratchFolder(path);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<int> run_child(const std::vector<std::string>& command, const fs::path& log,
                      const std::string& path_first, const std::atomic<bool>* cancel) {
  if (is_set(cancel)) return cancelled(command[0]);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (nothing.get() < 0 || output.get() < 0) {
    return error(ErrorCode::Io, "cannot write {}: {}", log.string(),
                 std::generic_category().message(errno));
  }
  const pid_t child = GPUEMU_TRY(spawn({.command = command,
                                        .folder = "",
                                        .descriptors = {nothing.get(), output.get(), output.get()},
                                        .environment = environment(path_first)}));
  return wait_for(child, command[0], cancel);
}

}  // namespace gpuemu::compile
