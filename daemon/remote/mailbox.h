// Private to this folder: passes messages between the thread that owns a connection and the threads
// that use it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "common/tls/tls_channel.h"
#include "daemon/remote/messages.h"

namespace gpuemu {

/// Bounded in both directions. Thread-safe.
class Mailbox {
 public:
  /// `wake` makes the connection's thread check the mailbox; any thread may call it.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// Waits for room; returns false once the mailbox is closed.
  bool send(const RemoteMessage& message);
  /// Returns nothing at the deadline, or once the mailbox is closed.
  std::optional<RemoteMessage> receive(std::chrono::steady_clock::time_point deadline);
  bool is_closed() const;
  void close();

  // All below is for the connection's thread.
  /// Returns whether the thread may read more messages.
  bool has_room() const;
  bool has_output() const;
  /// Moves messages to the channel, up to the amount that it should hold.
  void move_output(TlsChannel& channel);
  void deliver(RemoteMessage message);

 private:
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  bool closed_ = false;
  std::deque<std::vector<std::byte>> out_;
  std::deque<RemoteMessage> in_;
  size_t out_bytes_ = 0, in_bytes_ = 0;
};

}  // namespace gpuemu
