#include "daemon/remote/worker_session.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "common/base/limits.h"
#include "common/codec/json_codec.h"
#include "common/protocol/daemon.gen.h"
#include "common/protocol/errors.gen.h"
#include "daemon/remote/device_info.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kDialTime{10'000}, kRegisterTime{15'000};
constexpr int kLookMs = 200;
constexpr uint64_t kHeartbeatMsMin = 10, kHeartbeatMsMax = 60'000;

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

Result<UniqueFd> dial_one(const addrinfo& place, Clock::time_point end) {
  UniqueFd socket(::socket(place.ai_family, place.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           place.ai_protocol));
  int failed = !socket || ::connect(socket.get(), place.ai_addr, place.ai_addrlen) != 0 ? errno : 0;
  if (failed == EINPROGRESS) {
    pollfd wait{socket.get(), POLLOUT, 0};
    socklen_t size = sizeof failed;
    failed = ETIMEDOUT;
    if (::poll(&wait, 1, milliseconds_until(end)) > 0) {
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    }
  }
  if (failed != 0) return error(ErrorCode::Unavailable, "{}", std::strerror(failed));
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return socket;
}

Result<UniqueFd> dial(const HostPort& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int failed = ::getaddrinfo(address.host.c_str(), port.c_str(), &wanted, &found);
  if (failed != 0) return error(ErrorCode::Unavailable, "{}", ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places(found, ::freeaddrinfo);
  const auto end = Clock::now() + kDialTime;
  Result<UniqueFd> socket = error(ErrorCode::Unavailable, "no address");
  for (const addrinfo* place = found; place != nullptr; place = place->ai_next) {
    socket = dial_one(*place, end);
    if (socket) break;
  }
  return socket;
}

std::string host_name() {
  std::array<char, 65> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

class Session {
 public:
  Session(const RemoteOptions& options, RemoteService& service)
      : options_(options), service_(service) {}

  SessionEnd run(const std::shared_ptr<const TlsContext>& context);

 private:
  SessionEnd refused(std::string why) const { return {SessionEnd::Kind::Refused, std::move(why)}; }
  SessionEnd unreachable(const std::string& why) const {
    return {SessionEnd::Kind::Unreachable,
            fmt::format("cannot connect to {}: {}", options_.address.text(), why)};
  }
  /// Returns what the end of the connection before the acceptance means.
  SessionEnd explain() const;
  std::string register_text() const;
  /// Registers; returns how the session ended if the worker is not accepted.
  std::optional<SessionEnd> enlist();
  std::optional<SessionEnd> read_answer(const TlsChannel::Message& message);
  /// Serves until the connection ends.
  void serve();
  void carry(Mailbox& mailbox, Cancelling& cancelling);
  void exchange(Mailbox& mailbox, Cancelling& cancelling);

  const RemoteOptions& options_;
  RemoteService& service_;
  std::unique_ptr<TlsChannel> channel_;
  UniqueFd wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  milliseconds heartbeat_{}, lost_after_{};
  Clock::time_point next_heartbeat_ = {};
  std::vector<TlsChannel::Message> early_;  ///< Arrived along with the acceptance.
};

SessionEnd Session::explain() const {
  const std::string place = options_.address.text();
  switch (channel_->end()) {
    case TlsEnd::NotSigned:
      return refused(
          fmt::format("the certificate of {} is not signed by {}", place, options_.files.ca));
    case TlsEnd::Expired:
      return refused(fmt::format("the certificate of {} expired on {}", place, channel_->detail()));
    case TlsEnd::OtherHost:
      return refused(fmt::format("the certificate of {} is for {}", place, channel_->detail()));
    case TlsEnd::RefusedOurs:
      return refused(fmt::format("{} refused the certificate {}", place, options_.files.cert));
    case TlsEnd::NotTls:
      return refused(fmt::format("{} does not speak TLS 1.2 or later", place));
    case TlsEnd::WrongMessage:
      return refused(fmt::format("{} is not a daemon of gpuemu", place));
    case TlsEnd::Open:
      return unreachable("it does not answer");
    case TlsEnd::Closed:
      break;
  }
  return unreachable("it closed the connection");
}

std::string Session::register_text() const {
  return encode_request(WorkerRegisterRequest{.worker_id = options_.worker_id,
                                              .version = GPUEMU_VERSION,
                                              .worker_protocol = kWorkerProtocol,
                                              .hostname = host_name(),
                                              .pid = static_cast<uint64_t>(::getpid()),
                                              .device = info_of(options_.device),
                                              .token = options_.token});
}

std::optional<SessionEnd> Session::read_answer(const TlsChannel::Message& message) {
  const auto reply = decode_reply({reinterpret_cast<const char*>(message.data()), message.size()});
  if (!reply) return refused(fmt::format("{} is not a daemon of gpuemu", options_.address.text()));
  if (const auto* const failure = std::get_if<ErrorReply>(&*reply)) {
    if (failure->code != WireErrorCode::Unauthorized) return refused(failure->message);
    return refused(fmt::format("{} refused this worker: wrong token (--token-file {})",
                               options_.address.text(), options_.token_file));
  }
  const auto* const accepted = std::get_if<WorkerAcceptedReply>(&*reply);
  if (accepted == nullptr) {
    return refused(fmt::format("{} is not a daemon of gpuemu", options_.address.text()));
  }
  const auto bounded = [](uint64_t ms) {
    return milliseconds(std::clamp(ms, kHeartbeatMsMin, kHeartbeatMsMax));
  };
  heartbeat_ = bounded(accepted->heartbeat_ms);
  lost_after_ = bounded(accepted->lost_after_ms);
  return std::nullopt;
}

std::optional<SessionEnd> Session::enlist() {
  const std::string text = register_text();
  const auto* const from = reinterpret_cast<const std::byte*>(text.data());
  channel_->set_message_limit(kMessageBytesMax);
  channel_->send({from, from + text.size()});
  const auto end = Clock::now() + kRegisterTime;
  while (channel_->is_open() && Clock::now() < end) {
    channel_->advance();
    std::vector<TlsChannel::Message> messages = channel_->take_messages();
    if (!messages.empty()) {
      early_.assign(messages.begin() + 1, messages.end());
      return read_answer(messages.front());
    }
    if (!channel_->is_open()) break;
    pollfd wait{channel_->socket(), channel_->wanted_events(true), 0};
    ::poll(&wait, 1, milliseconds_until(end));
  }
  return explain();
}

void Session::exchange(Mailbox& mailbox, Cancelling& cancelling) {
  const auto now = Clock::now();
  if (now >= next_heartbeat_) {
    next_heartbeat_ = now + heartbeat_;
    if (channel_->queued_bytes() == 0) channel_->send(encode_remote({}));
  }
  mailbox.move_output(*channel_);
  channel_->advance(mailbox.has_room());
  std::vector<TlsChannel::Message> messages = std::exchange(early_, {});
  for (TlsChannel::Message& one : channel_->take_messages()) messages.push_back(std::move(one));
  for (const TlsChannel::Message& bytes : messages) {
    auto message = decode_remote(bytes);
    if (!message) return mailbox.close();
    if (message->kind == RemoteKind::Cancel) {
      cancelling.cancel(message->work);
    } else if (message->kind != RemoteKind::Heartbeat) {
      mailbox.deliver(*std::move(message));
    }
  }
}

/// Moves messages until the connection or the service ends.
void Session::carry(Mailbox& mailbox, Cancelling& cancelling) {
  while (!mailbox.is_closed()) {
    const bool reads = mailbox.has_room();
    const short events =
        static_cast<short>(channel_->wanted_events(reads) | (mailbox.has_output() ? POLLOUT : 0));
    pollfd waits[2] = {{channel_->socket(), events, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(waits, 2, kLookMs);
    uint64_t count = 0;
    if (waits[1].revents != 0) {
      [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
    }
    exchange(mailbox, cancelling);
    const bool is_silent = reads && Clock::now() - channel_->last_received() > lost_after_;
    if (!channel_->is_open() || is_silent) break;
  }
  cancelling.lose();
  mailbox.close();
}

void Session::serve() {
  Cancelling cancelling;
  Mailbox mailbox([this] {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(wake_.get(), &one, sizeof one);
  });
  std::thread carrier([&] { carry(mailbox, cancelling); });
  const Status served = service_.serve(mailbox, cancelling);
  if (!served) fmt::print(stderr, "gpuemu-worker: {}\n", served.error().message);
  mailbox.close();
  carrier.join();
}

SessionEnd Session::run(const std::shared_ptr<const TlsContext>& context) {
  Result<UniqueFd> socket = dial(options_.address);
  if (!socket) return unreachable(socket.error().message);
  auto channel = TlsChannel::make(context, *std::move(socket), options_.address.host);
  if (!channel) return refused(channel.error().message);
  channel_ = *std::move(channel);
  if (auto end = enlist()) return *std::move(end);
  fmt::print(stderr, "gpuemu-worker: {} serves {} with {} ({})\n", options_.worker_id,
             options_.address.text(), options_.device.name, options_.device.backend);
  serve();
  return {};
}

}  // namespace

SessionEnd serve_daemon(const RemoteOptions& options,
                        const std::shared_ptr<const TlsContext>& context, RemoteService& service) {
  return Session(options, service).run(context);
}

}  // namespace gpuemu
