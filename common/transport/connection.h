// Private to this folder: one client's connection, as the server's input/output thread sees it.
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

/// One message of a client: the stack that its reply must carry, then the body.
struct RequestMessage {
  std::string bytes;
  size_t stack_bytes = 0;

  std::string_view stack() const { return std::string_view(bytes).substr(0, stack_bytes); }
  std::string_view body() const { return std::string_view(bytes).substr(stack_bytes); }
};

/// Never blocks. For one thread.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Stage { Handshake, Head, Body };

  /// Sends the server's half of the handshake.
  Connection(UniqueFd socket, uint64_t number);

  uint64_t number() const { return peer_.connection; }
  const ClientPeer& peer() const { return peer_; }
  int socket() const { return socket_.get(); }
  /// False once the client hung up or sent something that is not the protocol.
  bool is_open() const { return open_; }
  bool has_output() const { return !output_.empty(); }
  /// Handshake or message of which a part has arrived, or a reply that is not yet sent.
  bool is_midway() const { return stage_ == Stage::Handshake || is_in_message() || has_output(); }
  /// When it last moved a byte.
  Clock::time_point last_progress() const { return last_progress_; }
  /// Whether it has kept the server waiting for longer than any live client does.
  bool is_overdue(Clock::time_point now) const;
  /// Starts that time anew: the server did not read meanwhile.
  void excuse() { opened_ = last_progress_ = Clock::now(); }

  /// Reads what has arrived, at most as much as keeps other clients waiting unnoticeably; complete
  /// messages are appended to `messages`.
  void read(std::vector<RequestMessage>& messages);
  /// Queues a reply and sends what the socket takes.
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
  size_t wanted_bytes_;  ///< Bytes that complete the present stage.
  std::string input_;    ///< The part of the present stage that has arrived.
  std::deque<std::string> output_;
  size_t output_sent_ = 0;  ///< Bytes of the first of output_ that are sent.
  Clock::time_point opened_, last_progress_;
};

}  // namespace gpuemu
