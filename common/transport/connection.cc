#include "common/transport/connection.h"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

#include "common/base/limits.h"
#include "common/transport/sp_wire.h"

namespace gpuemu {
namespace {

constexpr size_t kReadBytesMax = size_t{256} << 10;
/// A client sends its handshake as soon as it connects; it may be suspended in the middle of a
/// message.
constexpr std::chrono::seconds kHandshakePatience{5}, kMessagePatience{60};
constexpr size_t kMessageWithStackMax = kMessageBytesMax + 4 * kStackWordsMax;
/// An announced length allocates no memory before its bytes arrive.
constexpr size_t kReserveBytes = size_t{1} << 20;

ClientPeer peer_of(int socket, uint64_t number) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {number};
  return {number, credentials.pid, credentials.uid, credentials.gid};
}

bool would_block(int number) { return number == EAGAIN || number == EWOULDBLOCK; }

}  // namespace

Connection::Connection(UniqueFd socket, uint64_t number)
    : socket_(std::move(socket)),
      peer_(peer_of(socket_.get(), number)),
      wanted_bytes_(kHandshakeBytes),
      opened_(Clock::now()),
      last_progress_(opened_) {
  output_.emplace_back(kRepHandshake);
  write();
}

bool Connection::is_overdue(Clock::time_point now) const {
  if (stage_ == Stage::Handshake) return now - opened_ > kHandshakePatience;
  return is_in_message() && now - last_progress_ > kMessagePatience;
}

void Connection::read(std::vector<RequestMessage>& messages) {
  static thread_local std::vector<char> room(kReadBytesMax);
  const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), 0);
  if (got < 0 && (would_block(errno) || errno == EINTR)) return;
  if (got <= 0) {
    open_ = false;
    return;
  }
  last_progress_ = Clock::now();
  take({room.data(), static_cast<size_t>(got)}, messages);
}

void Connection::take(std::string_view bytes, std::vector<RequestMessage>& messages) {
  while (open_) {
    const size_t taken = std::min(bytes.size(), wanted_bytes_ - input_.size());
    input_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (input_.size() < wanted_bytes_) return;
    next_stage(messages);
  }
}

/// Called when the bytes of the current stage have arrived.
void Connection::next_stage(std::vector<RequestMessage>& messages) {
  if (stage_ == Stage::Body) {
    const auto stack = stack_bytes(input_);
    open_ = stack.has_value();
    if (stack) messages.push_back({std::move(input_), *stack});
  } else if (stage_ == Stage::Head) {
    const auto length = message_length(input_);
    open_ = length && *length <= kMessageWithStackMax;
    if (!open_) return;
    stage_ = Stage::Body;
    wanted_bytes_ = *length;
    input_ = std::string();
    input_.reserve(std::min(wanted_bytes_, kReserveBytes));
    return;
  } else {
    open_ = input_ == kReqHandshake;
  }
  stage_ = Stage::Head;
  wanted_bytes_ = kMessageHeadBytes;
  input_ = std::string();
}

void Connection::reply(std::string_view stack, std::string body) {
  const auto head = message_head(stack.size() + body.size());
  output_.emplace_back(std::string(head.data(), head.size()).append(stack));
  if (!body.empty()) output_.push_back(std::move(body));
  write();
}

void Connection::write() {
  while (open_ && !output_.empty()) {
    const std::string_view left = std::string_view(output_.front()).substr(output_sent_);
    const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      open_ = would_block(errno);
      return;
    }
    last_progress_ = Clock::now();
    output_sent_ += static_cast<size_t>(sent);
    if (output_sent_ < output_.front().size()) continue;
    output_.pop_front();
    output_sent_ = 0;
  }
}

}  // namespace gpuemu
