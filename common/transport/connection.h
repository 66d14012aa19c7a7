// Private to this folder: one client's connection, as the server's I/O thread sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/transport/server.h"

namespace gpuemu {

/// A client's message: the stack that its reply must carry, and the body.
struct RequestMessage {
  std::string bytes;
  size_t stack_bytes = 0;

  std::string_view stack() const { return std::string_view(bytes).substr(0, stack_bytes); }
  std::string_view body() const { return std::string_view(bytes).substr(stack_bytes); }
};

/// Never blocks. Not thread-safe.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Stage { Handshake, Head, Body };

  /// Sends the server's half of the handshake.
  Connection(UniqueFd socket, uint64_t number);

  uint64_t number() const { return peer_.connection; }
  const ClientPeer& peer() const { return peer_; }
  int socket() const { return socket_.get(); }
  /// Returns false once the client has closed the connection or violated the protocol.
  bool is_open() const { return open_; }
  bool has_output() const { return !output_.empty(); }
  /// Returns whether a handshake or message has partly arrived, or a reply is not yet sent.
  bool is_midway() const { return stage_ == Stage::Handshake || is_in_message() || has_output(); }
  /// Returns when it last transferred a byte.
  Clock::time_point last_progress() const { return last_progress_; }
  /// Returns whether it has kept the server waiting longer than any working client would.
  bool is_overdue(Clock::time_point now) const;
  /// Restarts that time, because the server did not read meanwhile.
  void excuse() { opened_ = last_progress_ = Clock::now(); }

  /// Reads what has arrived, but not so much that other clients wait noticeably. Appends complete
  /// messages to `messages`.
  void read(std::vector<RequestMessage>& messages);
  /// Queues a reply, and sends what the socket accepts.
  void reply(std::string_view stack, std::string body);
  /// Sends more of the queued replies.
  void write();

 private:
  bool is_in_message() const { return stage_ == Stage::Body || !input_.empty(); }
  void take(std::string_view bytes, std::vector<RequestMessage>& messages);
  void next_stage(std::vector<RequestMessage>& messages);

  UniqueFd socket_;
  const ClientPeer peer_;
  bool open_ = true;
  Stage stage_ = Stage::Handshake;
  size_t wanted_bytes_;  ///< Bytes that complete the current stage.
  std::string input_;    ///< The part of the current stage that has arrived.
  std::deque<std::string> output_;
  size_t output_sent_ = 0;  ///< Bytes of the first item of output_ already sent.
  Clock::time_point opened_, last_progress_;
};

}  // namespace gpuemu
