// Private to this folder: messages between the thread that owns a connection and those that use it.
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

/// Bounded both ways. Thread-safe.
class Mailbox {
 public:
  /// `wake` lets the connection's thread look at it; any thread may call it.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// Waits for room; false once it is closed.
  bool send(const RemoteMessage& message);
  /// Nothing at the deadline, or once it is closed.
  std::optional<RemoteMessage> receive(std::chrono::steady_clock::time_point deadline);
  bool is_closed() const;
  void close();

  // For the connection's thread:
  /// Whether it may read more.
  bool has_room() const;
  bool has_output() const;
  /// Hands over what is to be sent, as far as the channel shall hold it.
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
