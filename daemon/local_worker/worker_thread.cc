#include "daemon/local_worker/worker_thread.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/base/unique_fd.h"
#include "daemon/local_worker/serve_worker.h"
#include "daemon/worker/forwarding_link.h"

namespace gpuemu {
namespace {

/// The most bytes received in one call; messages are mostly far smaller.
constexpr size_t kReceivedAtOnce = size_t{64} << 10;

/// Waits until one of `events` may have happened on the socket, or the other end is closed.
Status wait_for(int socket, short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wait{socket, events, 0};
    constexpr int64_t kLongestPoll = 1'000;
    const int ready =
        ::poll(&wait, 1, static_cast<int>(std::clamp<int64_t>(left.count(), 0, kLongestPoll)));
    if (ready > 0) return ok_status();
    if (ready < 0 && errno != EINTR) return error(ErrorCode::Io, "poll: {}", std::strerror(errno));
    if (left.count() <= 0) return error(ErrorCode::Timeout, "no answer until the deadline");
  }
}

class WorkerThread final : public WorkerLink {
 public:
  ~WorkerThread() override { end(); }
  Status start(const WorkerOptions& options, std::span<const Arena* const> arenas) override;
  bool running() override { return thread_.joinable() && !is_over_; }
  Status send(std::span<const std::byte> bytes, Deadline deadline) override;
  Status receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline) override;
  void kill() override { end(); }
  void stop(Deadline) override { end(); }
  int pid() const override { return -1; }
  std::string error_tail() override;
  std::string ending() const override { return ""; }

 private:
  void end();
  void serve(const WorkerOptions& options, std::vector<Arena> arenas, UniqueFd socket);

  UniqueFd socket_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
  std::mutex mutex_;
  std::string trouble_;  // Guarded by mutex_.
};

void WorkerThread::end() {
  socket_.reset();  // The thread then reads the end of the stream.
  if (thread_.joinable()) thread_.join();
}

void WorkerThread::serve(const WorkerOptions& options, std::vector<Arena> arenas, UniqueFd socket) {
  std::string trouble;
  try {
    const Status served = serve_worker(options, std::move(arenas), socket.get());
    if (!served) trouble = served.error().message;
  } catch (const std::exception& failure) {  // Usually memory that the host refuses.
    trouble = failure.what();
  }
  {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(trouble);
  }
  is_over_ = true;
}

Status WorkerThread::start(const WorkerOptions& options, std::span<const Arena* const> arenas) {
  end();
  std::vector<Arena> own;
  for (const Arena* arena : arenas) {
    UniqueFd copy(::fcntl(arena->fd(), F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) return error(ErrorCode::Unavailable, "dup: {}", std::strerror(errno));
    own.push_back(GPUEMU_TRY(Arena::open(std::move(copy))));
  }
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return error(ErrorCode::Unavailable, "socketpair: {}", std::strerror(errno));
  }
  socket_.reset(pair[0]);
  is_over_ = false;
  trouble_.clear();
  thread_ = std::thread(&WorkerThread::serve, this, options, std::move(own), UniqueFd(pair[1]));
  return ok_status();
}

Status WorkerThread::send(std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
      return error(ErrorCode::Unavailable, "it does not read: {}", std::strerror(errno));
    }
    GPUEMU_TRY(wait_for(socket_.get(), POLLOUT, deadline));
  }
  return ok_status();
}

Status WorkerThread::receive(std::vector<std::byte>& to, size_t bytes_max, Deadline deadline) {
  std::array<std::byte, kReceivedAtOnce> piece;
  for (;;) {
    const ssize_t got =
        ::recv(socket_.get(), piece.data(), std::min(bytes_max, piece.size()), MSG_DONTWAIT);
    const int number = errno;
    if (got > 0) {
      to.insert(to.end(), piece.begin(), piece.begin() + got);
      return ok_status();
    }
    if (got == 0) return error(ErrorCode::Unavailable, "it has closed its socket");
    if (number == EINTR) continue;
    if (number != EAGAIN && number != EWOULDBLOCK) {
      return error(ErrorCode::Unavailable, "it is gone: {}", std::strerror(number));
    }
    GPUEMU_TRY(wait_for(socket_.get(), POLLIN, deadline));
  }
}

std::string WorkerThread::error_tail() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

/// Uses the first of two links, or the second from the first failure to start on.
class ProcessOrThread final : public ForwardingLink {
 public:
  explicit ProcessOrThread(std::function<void(const std::string& line)> told)
      : ForwardingLink(worker_process()), told_(std::move(told)) {}
  Status start(const WorkerOptions& options, std::span<const Arena* const> arenas) override {
    Status started = ForwardingLink::start(options, arenas);
    if (started || falls_back_ || started.error().code != ErrorCode::Unavailable) return started;
    falls_back_ = true;
    told_(fmt::format("no worker process: {}; kernels run in the daemon (scheduler.fallback)",
                      started.error().message));
    link_ = worker_thread();
    return link_->start(options, arenas);
  }

 private:
  const std::function<void(const std::string& line)> told_;
  bool falls_back_ = false;
};

}  // namespace

std::unique_ptr<WorkerLink> worker_thread() { return std::make_unique<WorkerThread>(); }

std::unique_ptr<WorkerLink> worker_process_or_thread(
    std::function<void(const std::string& line)> told) {
  return std::make_unique<ProcessOrThread>(std::move(told));
}

}  // namespace gpuemu
