// Implements sockets, polling and the end of a process together with all its descendants.
#include "daemon/process/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/base/limits.h"
#include "common/process/spawn.h"

namespace gpuemu {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The most bytes received in one call; messages are mostly far smaller.
constexpr size_t kReceivedAtOnce = size_t{64} << 10;
/// The longest single poll; deadlines and the child's end are checked after it.
constexpr int64_t kPollMillisecondsMax = 1'000;
/// How often stop() checks whether the child, which may have closed its output, has ended.
constexpr int kStopPollMilliseconds = 5;
/// One day: later deadlines are treated as none.
constexpr uint64_t kDeadlineMillisecondsMax = 86'400'000;

int poll_milliseconds(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, kPollMillisecondsMax));
}

/// Returns the parent of a process from /proc/PID/stat; 0 if it is gone. The process name, which
/// may contain any character, precedes it in parentheses.
pid_t parent_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > line.size()) return 0;
  return static_cast<pid_t>(std::strtol(line.c_str() + name_end + 4, nullptr, 10));
}

/// Returns all descendants of `pid`, whatever their sessions and groups.
std::vector<pid_t> descendants_of(pid_t pid) {
  std::multimap<pid_t, pid_t> children;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry("/proc", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto number =
        static_cast<pid_t>(std::strtol(entry->path().filename().c_str(), nullptr, 10));
    if (number > 0) children.emplace(parent_of(entry->path()), number);
  }
  std::vector<pid_t> found = {pid};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [from, to] = children.equal_range(found[i]);
    for (auto child = from; child != to; ++child) found.push_back(child->second);
    children.erase(from, to);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

Deadline deadline_after(uint64_t milliseconds_from_now) {
  const uint64_t bounded = std::min(milliseconds_from_now, kDeadlineMillisecondsMax);
  return steady_clock::now() + milliseconds(static_cast<int64_t>(bounded));
}

Result<ChildProcess> ChildProcess::spawn(const ChildOptions& options) {
  int sockets[2], errors[2], lifeline[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return error(ErrorCode::Io, "socketpair: {}", std::strerror(errno));
  }
  ChildProcess child;
  child.socket_.reset(sockets[0]);
  UniqueFd their_socket(sockets[1]);
  if (::pipe2(errors, O_CLOEXEC) != 0) {
    return error(ErrorCode::Io, "pipe: {}", std::strerror(errno));
  }
  child.errors_.reset(errors[0]);
  UniqueFd their_errors(errors[1]);
  if (::pipe2(lifeline, O_CLOEXEC) != 0) {
    return error(ErrorCode::Io, "pipe: {}", std::strerror(errno));
  }
  UniqueFd their_lifeline(lifeline[0]);
  child.lifeline_.reset(lifeline[1]);
  UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return error(ErrorCode::Io, "/dev/null: {}", std::strerror(errno));
  ::fcntl(child.socket_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(child.errors_.get(), F_SETFL, O_NONBLOCK);

  SpawnPlan plan{
      options.command, options.folder, {nothing.get(), errors[1], errors[1], sockets[1]}, 0};
  plan.descriptors.insert(plan.descriptors.end(), options.inherit.begin(), options.inherit.end());
  plan.lifeline = static_cast<int>(plan.descriptors.size());
  plan.descriptors.push_back(lifeline[0]);
  child.pid_ = GPUEMU_TRY(gpuemu::spawn(plan));
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  kill();
  pid_ = std::exchange(other.pid_, -1);
  status_ = other.status_;
  ended_ = other.ended_;
  socket_ = std::move(other.socket_);
  errors_ = std::move(other.errors_);
  lifeline_ = std::move(other.lifeline_);
  error_tail_ = std::move(other.error_tail_);
  return *this;
}

ChildProcess::~ChildProcess() { kill(); }

void ChildProcess::reap(bool block) {
  if (pid_ < 0) return;
  pid_t got = 0;
  do {
    got = ::waitpid(pid_, &status_, block ? 0 : WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return;
  ended_ = got > 0;
  // Kill what it started and left in its group.
  ::kill(-pid_, SIGKILL);
  pid_ = -1;
  drain_errors();
}

bool ChildProcess::running() {
  reap(false);
  return pid_ >= 0;
}

void ChildProcess::drain_errors() {
  char buffer[65536];
  while (errors_) {
    const ssize_t got = ::read(errors_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errors_.reset();
    if (got <= 0) return;
    error_tail_.append(buffer, static_cast<size_t>(got));
    if (error_tail_.size() > kScriptErrorBytesMax) {
      error_tail_.erase(0, error_tail_.size() - kScriptErrorBytesMax);
    }
  }
}

Status ChildProcess::wait_for(short events, Deadline deadline) {
  for (;;) {
    pollfd wanted[2] = {{socket_.get(), events, 0}, {errors_.get(), POLLIN, 0}};
    const int ready = ::poll(wanted, 2, poll_milliseconds(deadline));
    if (ready < 0 && errno != EINTR) return error(ErrorCode::Io, "poll: {}", std::strerror(errno));
    if (ready > 0 && wanted[1].revents != 0) drain_errors();
    if (ready > 0 && wanted[0].revents != 0) return ok_status();
    if (steady_clock::now() >= deadline) return error(ErrorCode::Timeout, "no answer in time");
    // A descendant may hold the socket open after the child itself has ended.
    if (ready == 0 && !running()) return error(ErrorCode::Unavailable, "the process has ended");
  }
}

Status ChildProcess::send(std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
      return error(ErrorCode::Unavailable, "the process does not read: {}", std::strerror(errno));
    }
    GPUEMU_TRY(wait_for(POLLOUT, deadline));
  }
  return ok_status();
}

Status ChildProcess::receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline,
                             std::chrono::microseconds busy) {
  const auto busy_until = std::min<Deadline>(steady_clock::now() + busy, deadline);
  // Received into a separate buffer: enlarging `to` for the largest message would clear that much
  // memory for each small one.
  std::array<std::byte, kReceivedAtOnce> piece;
  // Mostly nothing has arrived yet, and asking for it would waste a call.
  if (busy.count() == 0) GPUEMU_TRY(wait_for(POLLIN, deadline));
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), piece.data(), std::min(bytes_max, piece.size()), 0);
    const int number = errno;
    if (got > 0) {
      to.insert(to.end(), piece.begin(), piece.begin() + got);
      return ok_status();
    }
    if (got == 0) return error(ErrorCode::Unavailable, "the process has closed its socket");
    if (number == EINTR) continue;
    if (number != EAGAIN && number != EWOULDBLOCK) {
      return error(ErrorCode::Unavailable, "the process is gone: {}", std::strerror(number));
    }
    if (busy.count() > 0 && steady_clock::now() < busy_until) continue;
    GPUEMU_TRY(wait_for(POLLIN, deadline));
  }
}

void ChildProcess::kill() {
  if (pid_ < 0) return;
  reap(false);
  if (pid_ < 0) return;
  const std::vector<pid_t> strays = descendants_of(pid_);
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  for (pid_t stray : strays) ::kill(stray, SIGKILL);
  reap(true);
}

std::optional<int> ChildProcess::wait(Deadline deadline) {
  wait_for_end(deadline);
  if (!ended_ || !WIFEXITED(status_)) return std::nullopt;
  return WEXITSTATUS(status_);
}

void ChildProcess::stop(Deadline deadline) {
  socket_.reset();
  wait_for_end(deadline);
}

void ChildProcess::wait_for_end(Deadline deadline) {
  while (running() && steady_clock::now() < deadline) {
    // Its standard output closes when it ends, which wakes this thread without a signal handler.
    pollfd closing{errors_.get(), POLLIN, 0};
    ::poll(&closing, errors_ ? 1 : 0, std::min(poll_milliseconds(deadline), kStopPollMilliseconds));
    drain_errors();
  }
  kill();
}

std::string ChildProcess::error_tail() {
  drain_errors();
  return error_tail_;
}

void ChildProcess::forget_errors() {
  drain_errors();
  error_tail_.clear();
}

std::string ChildProcess::ending() const {
  if (!ended_) return "";
  if (WIFSIGNALED(status_)) {
    return fmt::format("signal {} ({})", WTERMSIG(status_), ::strsignal(WTERMSIG(status_)));
  }
  return fmt::format("exit code {}", WEXITSTATUS(status_));
}

}  // namespace gpuemu
