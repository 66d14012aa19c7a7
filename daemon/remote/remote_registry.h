// The remote workers that are connected, and whose turn it is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "common/protocol/workers.gen.h"
#include "daemon/worker/remote_pool.h"

namespace gpuemu {

class Mailbox;

/// What a worker says of itself.
struct RemoteIdentity {
  std::string worker_id, host, version;
  uint64_t pid = 0;
  DeviceInfo device;
};

/// Thread-safe.
class RemoteRegistry : public RemotePool, public std::enable_shared_from_this<RemoteRegistry> {
 public:
  using Clock = std::chrono::steady_clock;
  /// A worker from its acceptance to its loss.
  struct Member {
    RemoteIdentity identity;
    std::shared_ptr<Mailbox> mailbox;
    int64_t since = 0;  ///< Seconds since 1970.
    Clock::time_point connected = Clock::now(), ended = {};
    // Guarded by the registry:
    WorkerState state = WorkerState::Idle;
    uint64_t attempts = 0, lost = 0;
    size_t tapes = 0;  ///< Channels that it serves.
  };

  ~RemoteRegistry() override;

  std::unique_ptr<RemoteWorker> take(const WorkerOptions& options) override;
  bool has(const WorkerOptions& options) const override;
  size_t count(const WorkerOptions& options) const override;
  std::shared_ptr<TapeChannel> tape_channel(const WorkerOptions& options, size_t device) override;
  bool wait(std::chrono::milliseconds most) override;
  /// Ends all waiting, now and later.
  void shutdown();
  /// Whether no worker is connected.
  bool is_empty() const;

  /// Adds a worker; else why not: another process of its name is connected. One of the same process
  /// takes the place of its own earlier connection.
  std::variant<std::shared_ptr<Member>, std::string> add(const RemoteIdentity& identity,
                                                         std::shared_ptr<Mailbox> mailbox);
  /// Its connection has ended; what it runs is lost.
  void lose(const std::shared_ptr<Member>& member);
  /// Lists the connected workers and those lost a short while ago, by name.
  std::vector<RemoteWorkerInfo> list() const;

  // For the workers that take() lends:
  /// Waits until it does nothing, and takes it; false where it is lost.
  bool occupy(const std::shared_ptr<Member>& member);
  void end_tape(const std::shared_ptr<Member>& member);
  void give_back(const std::shared_ptr<Member>& member);
  /// Counts an attempt at a plan, and gives it a number that no other has.
  uint64_t begin_attempt(const std::shared_ptr<Member>& member);
  void count_loss(const std::shared_ptr<Member>& member);

 private:
  /// REQUIRES: mutex_ is held.
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
