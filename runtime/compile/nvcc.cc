// nvcc as a child process. Templates are instantiated by host references in a wrapper that includes
// the user's file, so that messages and .loc keep naming that file.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/limits.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/diagnostics.h"

extern char** environ;

namespace gpuemu::compile {
namespace {

namespace fs = std::filesystem;

/// A large template library takes a minute; beyond this the compiler hangs.
constexpr std::chrono::seconds kCompileTimeout{300};
constexpr std::chrono::milliseconds kPollInterval{5};

/// A folder that is removed with its content.
class ScratchFolder {
 public:
  static Result<ScratchFolder> create() {
    std::error_code failed;
    std::string path = (fs::temp_directory_path(failed) / "gpuemu-compile-XXXXXX").string();
    if (failed || ::mkdtemp(path.data()) == nullptr) {
      return error(ErrorCode::Io, "cannot make the folder {}: set TMPDIR to a writable folder",
                   path);
    }
    return ScratchFolder(path);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return fs::path(path_) / name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// The exit status. Output and errors go to `log`.
Result<int> run_child(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Its own group, so that a hanging compiler goes with its children.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return error(ErrorCode::Unavailable, "cannot start {}: {}", command[0],
                 std::generic_category().message(failed));
  }
  const auto deadline = std::chrono::steady_clock::now() + kCompileTimeout;
  int status = 0;
  while (true) {
    const pid_t done = ::waitpid(child, &status, WNOHANG);
    if (done == child) break;
    if (done < 0 && errno != EINTR) {
      return error(ErrorCode::Internal, "waiting for {} failed: {}", command[0],
                   std::generic_category().message(errno));
    }
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      return error(ErrorCode::Timeout, "{} did not end within {} s", command[0],
                   kCompileTimeout.count());
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string wrapper_of(const Job& job, const std::string& included) {
  std::string text = fmt::format("#include \"{}\"\nnamespace {{\n", included);
  for (size_t i = 0; i < job.templates.size(); ++i) {
    text += fmt::format("[[maybe_unused]] auto* gpuemu_entry_{} = &{};\n", i, job.templates[i]);
  }
  return text + "}\n";
}

}  // namespace

Result<Output> run_nvcc(const Toolkit& toolkit, const Job& job) {
  const ScratchFolder scratch = GPUEMU_TRY(ScratchFolder::create());
  std::error_code failed;
  std::string included = job.path;
  // Text that is not what the file holds is compiled from a file of the same name.
  auto on_disk = read_file(job.path, kSourceBytesMax);
  if (!on_disk || *on_disk != job.source) {
    included = scratch / fs::path(job.path).filename().string();
    GPUEMU_TRY(write_file(included, job.source));
  }
  const fs::path wrapper = scratch / "gpuemu_wrapper.cu";
  const fs::path ptx = scratch / "out.ptx";
  const fs::path log = scratch / "log";
  GPUEMU_TRY(write_file(wrapper, wrapper_of(job, included)));
  std::vector<std::string> command = {toolkit.nvcc,
                                      "-ptx",
                                      "-lineinfo",
                                      "-std=c++17",
                                      "-arch=" + job.arch,
                                      "-o",
                                      ptx,
                                      wrapper,
                                      "-I" + fs::path(job.path).parent_path().string()};
  for (const std::string& folder : job.include_dirs) command.push_back("-I" + folder);
  for (const std::string& flag : job.flags) {
    if (flag != "-lineinfo") command.push_back(flag);
    if (flag.starts_with("-std=") || flag.starts_with("--std=")) std::erase(command, "-std=c++17");
  }
  const int status = GPUEMU_TRY(run_child(command, log));
  if (status != 0) {
    auto text = read_file(log, kSourceBytesMax);
    return error(ErrorCode::Compile, "{}",
                 text ? error_lines(*text) : fmt::format("nvcc ended with status {}", status));
  }
  return Output{GPUEMU_TRY(read_file(ptx, kSourceBytesMax)), {}};
}

}  // namespace gpuemu::compile
