#include "daemon/remote/network_clients.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <variant>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/limits.h"
#include "common/codec/json_codec.h"
#include "common/codec/shared_tensor.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "common/protocol/wire_errors.h"
#include "common/tls/secret_file.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kClientsMax = 64;
/// Larger than any number that a connection of the local socket gets.
constexpr uint64_t kFirstNumber = uint64_t{1} << 63;
/// The time limit from the first message to the token.
constexpr std::chrono::seconds kPatience{5};
/// The delay after a wrong token, which slows down guessing.
constexpr std::chrono::seconds kUnauthorizedDelay{1};
constexpr int kLookMs = 200;
/// Detects a host that disappears within about 20 s.
constexpr int kProbeAfterS = 10, kProbeEveryS = 5, kProbes = 2;

/// Returns whether the request needs no file of this host and concerns only the client's own
/// session.
bool is_for_network(const Request& request) {
  if (const auto* const close = std::get_if<CloseSessionRequest>(&request)) {
    return close->name.empty();
  }
  return is_one_of<PingRequest, OpenSessionRequest, SubmitTapeRequest, TapeStatusRequest,
                   FetchTensorRequest>(request);
}

Result<AddressedRequest> decode(std::string_view message) {
  return decode_request(message, [](const SharedTensorRef&) -> Result<std::vector<std::byte>> {
    return error(ErrorCode::NotFound,
                 "memory: a client that connects over TCP shares no memory with the daemon; send "
                 "data");
  });
}

ErrorReply not_for_network(const Request& request) {
  return {WireErrorCode::Unauthorized,
          fmt::format("{} is not for clients that connect over TCP: they may ask for Ping, "
                      "OpenSession, CloseSession of their own session, SubmitTape, TapeStatus and "
                      "FetchTensor, of the default project; everything else goes through the "
                      "daemon's socket, on another machine through a forwarded one (ssh -L)",
                      type_of(request))};
}

}  // namespace

/// A connection and its thread.
class NetworkClients::Line {
 public:
  Line(const NetworkClients& all, std::unique_ptr<TlsChannel> channel, std::string peer,
       uint64_t number)
      : all_(all), channel_(std::move(channel)), peer_(std::move(peer)), number_(number) {}
  ~Line() {
    if (thread_.joinable()) thread_.join();
  }

  void start(TlsChannel::Message first);
  bool is_over() const { return is_over_; }

 private:
  void run(const TlsChannel::Message& first);
  void wait();
  void answer(const TlsChannel::Message& message);
  std::optional<ErrorReply> refusal(const AddressedRequest& asked);
  void send(const std::string& reply);

  const NetworkClients& all_;
  std::unique_ptr<TlsChannel> channel_;
  const std::string peer_;
  const uint64_t number_;
  bool has_token_ = false, stops_ = false;
  const Clock::time_point deadline_ = Clock::now() + kPatience;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

void NetworkClients::Line::start(TlsChannel::Message first) {
  try {
    thread_ = std::thread([this, first = std::move(first)] { run(first); });
  } catch (const std::system_error&) {
    is_over_ = true;
  }
}

void NetworkClients::Line::run(const TlsChannel::Message& first) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(channel_->socket(), level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterS);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeEveryS);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  all_.options_.connected(number_);
  answer(first);
  while (channel_->is_open() && !stops_) {
    wait();
    for (const TlsChannel::Message& message : channel_->take_messages()) answer(message);
    if (!has_token_ && Clock::now() >= deadline_) break;
  }
  channel_->advance(false);
  all_.options_.disconnected(number_);
  channel_.reset();
  is_over_ = true;
}

void NetworkClients::Line::wait() {
  pollfd waits[2] = {{channel_->socket(), channel_->wanted_events(true), 0},
                     {all_.stop_.get(), POLLIN, 0}};
  ::poll(waits, 2, kLookMs);
  stops_ = waits[1].revents != 0;
  channel_->advance();
}

void NetworkClients::Line::send(const std::string& reply) {
  const auto* const from = reinterpret_cast<const std::byte*>(reply.data());
  channel_->send({from, from + reply.size()});
  channel_->advance(false);
}

void NetworkClients::Line::answer(const TlsChannel::Message& message) {
  const std::string_view text(reinterpret_cast<const char*>(message.data()), message.size());
  const auto asked = decode(text);
  if (!asked) return send(encode_reply(error_reply(asked.error())));
  if (const auto refused = refusal(*asked)) {
    if (refused->code == WireErrorCode::Unauthorized) {
      all_.options_.log(fmt::format("refused a client of {}: {}", peer_, refused->message));
      std::this_thread::sleep_for(kUnauthorizedDelay);
    }
    return send(encode_reply(*refused));
  }
  send(all_.options_.answer(text, number_));
}

std::optional<ErrorReply> NetworkClients::Line::refusal(const AddressedRequest& asked) {
  if (!is_for_network(asked.request) || !asked.project.empty()) {
    return not_for_network(asked.request);
  }
  if (has_token_) return std::nullopt;
  const auto* const open = std::get_if<OpenSessionRequest>(&asked.request);
  if (open == nullptr || !is_same_secret(all_.options_.token, open->token)) {
    return ErrorReply{
        WireErrorCode::Unauthorized,
        fmt::format("{} has {}; over TCP a client begins with OpenSession and the token of "
                    "daemon.listen.token_file",
                    type_of(asked.request),
                    open == nullptr || open->token.empty() ? "no token" : "a wrong token")};
  }
  has_token_ = true;
  channel_->set_message_limit(kMessageBytesMax);
  return std::nullopt;
}

NetworkClients::NetworkClients(NetworkClientsOptions options)
    : options_(std::move(options)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      last_number_(kFirstNumber) {}

NetworkClients::~NetworkClients() {
  const uint64_t one = 1;
  // Writing to a counter of 0 always succeeds.
  [[maybe_unused]] const ssize_t put = ::write(stop_.get(), &one, sizeof one);
  const std::lock_guard lock(mutex_);
  lines_.clear();
}

void NetworkClients::serve(std::unique_ptr<TlsChannel> channel, TlsChannel::Message first,
                           std::string peer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(lines_, [](const auto& line) { return line->is_over(); });
  if (lines_.size() >= kClientsMax) {
    options_.log(fmt::format("refused a client of {}: {} are connected over TCP, the limit", peer,
                             kClientsMax));
    return;
  }
  lines_.push_back(
      std::make_unique<Line>(*this, std::move(channel), std::move(peer), ++last_number_));
  lines_.back()->start(std::move(first));
}

}  // namespace gpuemu
