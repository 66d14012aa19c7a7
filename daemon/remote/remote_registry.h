// The registry of connected remote workers, and the choice of the next one to use.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "common/protocol/daemon.gen.h"
#include "daemon/worker/remote_pool.h"

namespace gpuemu {

class Mailbox;

/// The identity that a worker reports.
struct RemoteIdentity {
  std::string worker_id, host, version;
  uint64_t pid = 0;
  DeviceInfo device;
};

/// Registers remote workers and lends them. Thread-safe.
class RemoteRegistry : public RemotePool, public std::enable_shared_from_this<RemoteRegistry> {
 public:
  using Clock = std::chrono::steady_clock;
  /// A worker from its acceptance until it is lost.
  struct Member {
    RemoteIdentity identity;
    std::shared_ptr<Mailbox> mailbox;
    int64_t since = 0;  ///< Seconds since 1970.
    Clock::time_point connected = Clock::now(), ended = {};
    // Guarded by the registry:
    WorkerState state = WorkerState::Idle;
    uint64_t attempts = 0, lost = 0;
    size_t tapes = 0;  ///< Tape channels that it serves.
  };

  ~RemoteRegistry() override;

  std::unique_ptr<RemoteWorker> take(const WorkerOptions& options) override;
  bool has(const WorkerOptions& options) const override;
  size_t count(const WorkerOptions& options) const override;
  std::shared_ptr<TapeChannel> tape_channel(const WorkerOptions& options, size_t device) override;
  bool wait(std::chrono::milliseconds most) override;
  /// Ends all waiting, present and future.
  void shutdown();
  /// Returns whether no worker is connected.
  bool is_empty() const;

  /// Adds a worker. Returns the reason if it is refused: another process of its name is connected.
  /// A connection from the same process replaces its earlier one.
  std::variant<std::shared_ptr<Member>, std::string> add(const RemoteIdentity& identity,
                                                         std::shared_ptr<Mailbox> mailbox);
  /// Records that the worker's connection has ended; the work that it runs is lost.
  void lose(const std::shared_ptr<Member>& member);
  /// Lists, by name, the connected workers and those lost recently.
  std::vector<RemoteWorkerInfo> list() const;

  // For the workers that take() returns:
  /// Waits until the worker is idle, and takes it; returns false if it is lost.
  bool occupy(const std::shared_ptr<Member>& member);
  void end_tape(const std::shared_ptr<Member>& member);
  void give_back(const std::shared_ptr<Member>& member);
  /// Counts an attempt at a plan, and returns a unique number for it.
  uint64_t begin_attempt(const std::shared_ptr<Member>& member);
  void count_loss(const std::shared_ptr<Member>& member);

 private:
  /// Wakes the waiting threads. REQUIRES: mutex_ is held.
  void tell_change();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  uint64_t changes_ = 0;
  bool ended_ = false;
  std::map<std::string, std::shared_ptr<Member>> members_, gone_;
  uint64_t last_work_ = 0;
};

}  // namespace gpuemu
