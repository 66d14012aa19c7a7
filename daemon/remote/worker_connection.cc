#include "daemon/remote/worker_connection.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "common/base/limits.h"
#include "common/codec/json_codec.h"
#include "common/tls/secret_file.h"

namespace gpuemu {
namespace {

/// The time limits from the connection to the registration, and for sending a refusal.
constexpr std::chrono::seconds kPatience{5}, kLingerTime{1};
/// The delay after a wrong token, which slows down guessing.
constexpr std::chrono::seconds kUnauthorizedDelay{1};
constexpr size_t kNameBytesMax = 64;

/// Returns whether the text has only letters, digits and characters of host names, because it
/// appears in logs and on terminals.
bool is_name(const std::string& text) {
  const auto fits = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || std::strchr("._-:", letter) != nullptr;
  };
  return !text.empty() && text.size() <= kNameBytesMax && std::ranges::all_of(text, fits);
}

ErrorReply invalid(std::string message) {
  return {WireErrorCode::InvalidRequest, std::move(message)};
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* const from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

}  // namespace

WorkerConnection::WorkerConnection(std::unique_ptr<TlsChannel> channel, std::string peer,
                                   const WorkerPort& port)
    : channel_(std::move(channel)),
      peer_(std::move(peer)),
      port_(port),
      deadline_(Clock::now() + kPatience) {
  channel_->set_message_limit(kRegisterBytesMax);
}

WorkerConnection::~WorkerConnection() {
  if (member_ != nullptr) port_.registry->lose(member_);
}

std::string WorkerConnection::name() const {
  return fmt::format("worker '{}' of {}", member_->identity.worker_id, member_->identity.host);
}

short WorkerConnection::wanted_events() const {
  if (stage_ == Stage::Linger) return POLLIN;
  const bool reads = member_ == nullptr || member_->mailbox->has_room();
  short events = channel_->wanted_events(reads);
  if (member_ != nullptr && member_->mailbox->has_output()) events |= POLLOUT;
  return events;
}

void WorkerConnection::drop() { stage_ = Stage::Over; }

void WorkerConnection::advance(bool is_ready) {
  const auto now = Clock::now();
  if (stage_ == Stage::Serve) return serve();
  if (stage_ == Stage::Linger) {
    std::array<char, 4096> nothing;
    const ssize_t got = is_ready ? ::recv(lingering_.get(), nothing.data(), nothing.size(), 0) : 1;
    const bool is_broken = got < 0 && errno != EAGAIN && errno != EINTR;
    if (got == 0 || is_broken || now >= deadline_) stage_ = Stage::Over;
    return;
  }
  if (is_ready) channel_->advance();
  if (!channel_->is_open()) {
    const bool is_foreign = channel_->end() == TlsEnd::NotTls;
    if (channel_->end() != TlsEnd::Closed) {
      port_.log_seldom(fmt::format(
          "refused a connection of {} to the port for workers: {}", peer_,
          is_foreign ? "it does not speak TLS" : "its certificate or first message is wrong"));
    }
    return linger();
  }
  if (stage_ == Stage::Handshake && channel_->is_established()) stage_ = Stage::Register;
  if (stage_ == Stage::Register) register_worker();
  if (stage_ == Stage::Refuse) channel_->take_messages();  // Its messages are discarded now.
  if (stage_ == Stage::Refuse && refused_ && now >= refuse_at_) {
    channel_->send(bytes_of(encode_reply(*std::exchange(refused_, std::nullopt))));
    channel_->advance();
  }
  if (stage_ == Stage::Refuse && !refused_ && channel_->queued_bytes() == 0) return linger();
  if (now < deadline_) return;
  if (stage_ == Stage::Handshake) {
    port_.log_seldom(
        fmt::format("refused a connection of {} to the port for workers: it is silent", peer_));
  }
  drop();
}

void WorkerConnection::linger() {
  lingering_ = channel_->take_socket();
  stage_ = Stage::Linger;
  deadline_ = Clock::now() + kLingerTime;
}

void WorkerConnection::register_worker() {
  std::vector<TlsChannel::Message> messages = channel_->take_messages();
  if (messages.empty()) return;
  const TlsChannel::Message& first = messages.front();
  const auto request = decode_request({reinterpret_cast<const char*>(first.data()), first.size()});
  const auto* const asked = request ? std::get_if<WorkerRegisterRequest>(&*request) : nullptr;
  const bool is_client = request && std::holds_alternative<OpenSessionRequest>(*request);
  if (is_client && messages.size() == 1) {
    if (port_.take_client(channel_, std::move(messages.front()), peer_)) return drop();
    return refuse_told({WireErrorCode::Busy, "the daemon is starting or ends; connect again"});
  }
  if (asked == nullptr) {
    return refuse_first(request ? "expected WorkerRegister, or OpenSession of a client"
                                : request.error().message);
  }
  if (auto refused = refusal(*asked)) return refuse_told(*std::move(refused));
  auto added = port_.registry->add({.worker_id = asked->worker_id,
                                    .host = asked->hostname,
                                    .version = asked->version,
                                    .pid = asked->pid,
                                    .device = asked->device},
                                   std::make_shared<Mailbox>(port_.wake));
  if (auto* const why = std::get_if<std::string>(&added)) return refuse_told(invalid(*why));
  member_ = std::get<std::shared_ptr<RemoteRegistry::Member>>(added);
  channel_->set_message_limit(kMessageBytesMax);
  channel_->send(bytes_of(encode_reply(
      WorkerAcceptedReply{.heartbeat_ms = static_cast<uint64_t>(kHeartbeat.count()),
                          .lost_after_ms = static_cast<uint64_t>(kLostAfter.count())})));
  channel_->advance();
  stage_ = Stage::Serve;
  next_heartbeat_ = Clock::now() + kHeartbeat;
  port_.log(fmt::format("{} is connected from {}: {}, {}", name(), peer_, asked->device.backend,
                        asked->device.architecture));
}

std::optional<ErrorReply> WorkerConnection::refusal(const WorkerRegisterRequest& request) {
  if (!is_same_secret(port_.token, request.token)) {
    return ErrorReply{WireErrorCode::Unauthorized, "wrong token"};
  }
  if (request.version != GPUEMU_VERSION || request.worker_protocol != kWorkerProtocol) {
    return invalid(fmt::format(
        "the worker has gpuemu {} (worker protocol {}), this daemon has gpuemu {} (worker protocol "
        "{}); install the same version on both",
        request.version, request.worker_protocol, GPUEMU_VERSION, kWorkerProtocol));
  }
  if (!is_name(request.worker_id) || !is_name(request.hostname)) {
    return invalid(fmt::format(
        "worker_id and hostname: expected 1 to {} letters, digits, '.', '_', '-' or ':'",
        kNameBytesMax));
  }
  return std::nullopt;
}

/// Refuses a connection. The log omits the peer's bytes, because it may not be a worker at all.
void WorkerConnection::refuse_first(std::string why) {
  port_.log_seldom(fmt::format("refused a worker of {}: its first message is wrong", peer_));
  refuse(invalid(std::move(why)));
}

void WorkerConnection::refuse_told(ErrorReply reply) {
  // The version may be any text.
  const bool is_plain = std::ranges::all_of(
      reply.message, [](unsigned char letter) { return std::isprint(letter) != 0; });
  port_.log(fmt::format("refused a worker of {}: {}", peer_,
                        is_plain ? reply.message : "its version is not text"));
  refuse(std::move(reply));
}

void WorkerConnection::refuse(ErrorReply reply) {
  const bool is_guess = reply.code == WireErrorCode::Unauthorized;
  refuse_at_ = Clock::now() + (is_guess ? kUnauthorizedDelay : std::chrono::seconds(0));
  deadline_ = refuse_at_ + kPatience;
  refused_ = std::move(reply);
  stage_ = Stage::Refuse;
}

void WorkerConnection::serve() {
  Mailbox& mailbox = *member_->mailbox;
  if (mailbox.is_closed()) return lose("another connection took its place, or it was given up");
  const auto now = Clock::now();
  if (now >= next_heartbeat_) {
    next_heartbeat_ = now + kHeartbeat;
    // Queued data shows just as well that the connection is alive.
    if (channel_->queued_bytes() == 0) channel_->send(encode_remote({}));
  }
  mailbox.move_output(*channel_);
  const bool reads = mailbox.has_room();
  channel_->advance(reads);
  for (const TlsChannel::Message& bytes : channel_->take_messages()) {
    auto message = decode_remote(bytes);
    if (!message) return lose(message.error().message);
    if (message->kind != RemoteKind::Heartbeat) mailbox.deliver(*std::move(message));
  }
  if (!channel_->is_open()) return lose("the connection was closed");
  // While nothing is read, silence proves nothing.
  if (reads && Clock::now() - channel_->last_received() > kLostAfter) {
    lose(fmt::format("it was silent for {} ms", kLostAfter.count()));
  }
}

void WorkerConnection::lose(const std::string& why) {
  port_.log(fmt::format("lost {}: {}; what it ran is scheduled again", name(), why));
  port_.registry->lose(std::exchange(member_, nullptr));
  drop();
}

}  // namespace gpuemu
