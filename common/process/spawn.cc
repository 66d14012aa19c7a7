// The lifeline: the child reads a pipe whose other end only this process holds. O_ASYNC with
// F_SETSIG makes the kernel send SIGKILL to the child's process group when that end closes, even
// after kill -9. Unlike PR_SET_PDEATHSIG, it does not fire when only the thread that forked ends.
#include "common/process/spawn.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/process/acting_user.h"

namespace gpuemu {
namespace {

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = path.find(':', begin);
    if (end == std::string::npos) end = path.size();
    const std::string folder = path.substr(begin, end - begin);
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return name;
}

/// The umask of children; negative: that of this process.
int child_umask = -1;

struct ChildStart {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* folder;
  const int* descriptors;
  int descriptor_count;
  int lifeline;
  int moved_base;
  int failure_pipe;
  int umask;
  const UserIds* user;  ///< Null: the user of this process.
};

/// Permanent. The groups are those of the thread that forked.
bool become_user(const UserIds& user) {
  return ::syscall(SYS_setresgid, user.gid, user.gid, user.gid) == 0 &&
         ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) == 0;
}

/// Runs in the child. Never returns.
[[noreturn]] void become(const ChildStart& start) {
  ::setsid();
  if (start.umask >= 0) ::umask(static_cast<mode_t>(start.umask));
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::signal(number, SIG_DFL);
  // Beyond the numbers to which the other descriptors are moved first.
  const int failure =
      ::fcntl(start.failure_pipe, F_DUPFD_CLOEXEC, start.moved_base + start.descriptor_count);
  bool good = failure >= 0;
  for (int i = 0; good && i < start.descriptor_count; ++i) {
    const int moved = ::fcntl(start.descriptors[i], F_DUPFD, start.moved_base + i);
    good =
        moved == start.moved_base + i || (moved >= 0 && ::dup2(moved, start.moved_base + i) >= 0);
  }
  for (int i = 0; good && i < start.descriptor_count; ++i) {
    good = ::dup2(start.moved_base + i, i) >= 0;
  }
  if (good && start.lifeline >= 0) {
    good = ::fcntl(start.lifeline, F_SETOWN, -::getpid()) == 0 &&
           ::fcntl(start.lifeline, F_SETSIG, SIGKILL) == 0 &&
           ::fcntl(start.lifeline, F_SETFL, O_ASYNC) == 0;
  }
  if (good && start.user != nullptr) good = become_user(*start.user);
  if (good && start.folder[0] != '\0') good = ::chdir(start.folder) == 0;
  if (good) {
    const auto first = static_cast<unsigned>(start.descriptor_count);
    const auto kept = static_cast<unsigned>(failure);
    ::syscall(SYS_close_range, first, kept - 1, 0U);
    ::syscall(SYS_close_range, kept + 1, ~0U, 0U);
    ::execve(start.program, start.arguments, start.environment);
  }
  const int number = errno;
  const ssize_t ignored = ::write(failure, &number, sizeof number);
  ::_exit(ignored == 0 ? 126 : 127);
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int highest(const std::vector<int>& descriptors) {
  int top = 0;
  for (int fd : descriptors) top = fd > top ? fd : top;
  return top;
}

}  // namespace

void make_private_files() { child_umask = static_cast<int>(::umask(077)); }

Result<pid_t> spawn(const SpawnPlan& plan) {
  const std::string program = find_program(plan.command.front());
  const std::vector<char*> arguments = pointers_to(plan.command);
  std::vector<char*> variables;
  const std::optional<UserIds> user = acting_for();
  std::optional<std::vector<std::string>> environment = plan.environment;
  if (user && !environment) environment = environment_of_thread();
  if (environment) variables = pointers_to(*environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return error(ErrorCode::Io, "pipe: {}", std::strerror(errno));
  }
  UniqueFd failure_read(ends[0]), failure_write(ends[1]);
  const int base = (highest(plan.descriptors) > ends[1] ? highest(plan.descriptors) : ends[1]) + 1;
  const ChildStart start{program.c_str(),
                         arguments.data(),
                         environment ? variables.data() : environ,
                         plan.folder.c_str(),
                         plan.descriptors.data(),
                         static_cast<int>(plan.descriptors.size()),
                         plan.lifeline,
                         base,
                         ends[1],
                         child_umask,
                         user ? &*user : nullptr};
  const pid_t pid = ::fork();
  if (pid < 0) {
    return error(ErrorCode::ResourceExhausted, "cannot start {}: fork: {}", program,
                 std::strerror(errno));
  }
  if (pid == 0) become(start);
  failure_write.reset();
  int number = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure_read.get(), &number, sizeof number);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof number)) return pid;
  ::waitpid(pid, nullptr, 0);
  return error(ErrorCode::Unavailable, "cannot start {} in folder '{}': {}", program,
               plan.folder.empty() ? "." : plan.folder, std::strerror(number));
}

}  // namespace gpuemu
