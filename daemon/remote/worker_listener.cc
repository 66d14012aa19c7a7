#include "daemon/remote/worker_listener.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "daemon/remote/worker_connection.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

/// How often deadlines are checked.
constexpr int kLookMs = 200;
/// The most connections that have not registered yet; one more closes the oldest.
constexpr size_t kStrangersMax = 256;
constexpr int kBacklog = 512, kAcceptedMax = 64;
constexpr std::chrono::minutes kLogPeriod{1};
/// The pause before the next attempt if the system has no file descriptors left.
constexpr std::chrono::milliseconds kAcceptPause{200};

std::string address_of(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  const auto* const from = reinterpret_cast<const sockaddr*>(&address);
  const int failed =
      ::getnameinfo(from, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? host.data() : "an unknown address";
}

Result<UniqueFd> bind_one(const addrinfo& place) {
  UniqueFd socket(::socket(place.ai_family, place.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           place.ai_protocol));
  const int yes = 1;
  if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!socket || ::bind(socket.get(), place.ai_addr, place.ai_addrlen) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return error(ErrorCode::Unavailable, "{}", std::strerror(errno));
  }
  return socket;
}

Result<UniqueFd> bind_address(const HostPort& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int failed = ::getaddrinfo(address.host.c_str(), port.c_str(), &wanted, &found);
  const auto with_context = [&](const std::string& why) {
    return error(ErrorCode::Unavailable, "daemon.listen.address: cannot listen on {}: {}",
                 address.text(), why);
  };
  if (failed != 0) return with_context(::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places(found, ::freeaddrinfo);
  auto bound = bind_one(*found);
  if (!bound) return with_context(bound.error().message);
  return bound;
}

void signal(int event) {
  const uint64_t one = 1;
  // This fails only if the counter is full, and then the thread wakes anyway.
  [[maybe_unused]] const ssize_t put = ::write(event, &one, sizeof one);
}

}  // namespace

struct WorkerListener::State {
  WorkerListenerOptions options;
  UniqueFd listener;
  /// Shared with the mailboxes, which may outlive the listener.
  std::shared_ptr<UniqueFd> wake = std::make_shared<UniqueFd>();
  WorkerPort port;
  std::list<WorkerConnection> connections;
  Clock::time_point accept_after = {}, next_log = {};
  uint64_t unlogged = 0;
  std::atomic<bool> stops{false};
  std::mutex clients_mutex;
  NetworkClients* clients = nullptr;  ///< Guarded by clients_mutex.
  std::thread thread;

  void run();
  void wait();
  void accept_all();
  void log_seldom(const std::string& line);
  bool take_client(std::unique_ptr<TlsChannel>& channel, TlsChannel::Message first,
                   const std::string& peer);
};

bool WorkerListener::State::take_client(std::unique_ptr<TlsChannel>& channel,
                                        TlsChannel::Message first, const std::string& peer) {
  const std::lock_guard lock(clients_mutex);
  if (clients != nullptr) clients->serve(std::move(channel), std::move(first), peer);
  return clients != nullptr;
}

void WorkerListener::State::log_seldom(const std::string& line) {
  const auto now = Clock::now();
  if (now < next_log) {
    ++unlogged;
    return;
  }
  next_log = now + kLogPeriod;
  options.log(unlogged == 0 ? line : fmt::format("{} (and {} others since)", line, unlogged));
  unlogged = 0;
}

void WorkerListener::State::accept_all() {
  for (int i = 0; i < kAcceptedMax; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    UniqueFd socket(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&address), &size,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      const bool is_none = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (!is_none) accept_after = Clock::now() + kAcceptPause;
      return;
    }
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const auto is_stranger = [](const WorkerConnection& one) { return !one.is_registered(); };
    const auto strangers = std::ranges::count_if(connections, is_stranger);
    if (static_cast<size_t>(strangers) >= kStrangersMax) {
      connections.erase(std::ranges::find_if(connections, is_stranger));
    }
    auto channel = TlsChannel::make(options.context, std::move(socket));
    if (channel) connections.emplace_back(*std::move(channel), address_of(address, size), port);
  }
}

/// Waits for an event, then lets every connection with pending work proceed.
void WorkerListener::State::wait() {
  const bool accepts = Clock::now() >= accept_after;
  std::vector<pollfd> waits = {{wake->get(), POLLIN, 0},
                               {accepts ? listener.get() : -1, POLLIN, 0}};
  for (const WorkerConnection& one : connections) {
    waits.push_back({one.socket(), one.wanted_events(), 0});
  }
  ::poll(waits.data(), waits.size(), kLookMs);
  if (waits[0].revents != 0) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake->get(), &count, sizeof count);
  }
  size_t place = 2;
  for (WorkerConnection& one : connections) one.advance(waits[place++].revents != 0);
  std::erase_if(connections, [](const WorkerConnection& one) { return one.is_over(); });
  if (waits[1].revents != 0) accept_all();
}

void WorkerListener::State::run() {
  while (!stops) wait();
  connections.clear();
}

WorkerListener::WorkerListener(std::unique_ptr<State> state) : state_(std::move(state)) {}

WorkerListener::~WorkerListener() {
  state_->stops = true;
  signal(state_->wake->get());
  state_->thread.join();
}

void WorkerListener::serve_clients(NetworkClients* clients) {
  const std::lock_guard lock(state_->clients_mutex);
  state_->clients = clients;
}

Result<std::unique_ptr<WorkerListener>> WorkerListener::listen(
    WorkerListenerOptions options, std::shared_ptr<RemoteRegistry> registry) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  state->listener = GPUEMU_TRY(bind_address(state->options.address));
  state->wake->reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!*state->wake) {
    return error(ErrorCode::ResourceExhausted, "no eventfd: {}", std::strerror(errno));
  }
  State* const own = state.get();
  state->port = {.registry = std::move(registry),
                 .token = state->options.token,
                 .wake = [event = state->wake] { signal(event->get()); },
                 .log = state->options.log,
                 .log_seldom = [own](const std::string& line) { own->log_seldom(line); },
                 .take_client =
                     [own](std::unique_ptr<TlsChannel>& channel, TlsChannel::Message first,
                           const std::string& peer) {
                       return own->take_client(channel, std::move(first), peer);
                     }};
  try {
    state->thread = std::thread([own] { own->run(); });
  } catch (const std::system_error&) {
    return error(ErrorCode::ResourceExhausted, "the system has no thread for the port of workers");
  }
  return std::unique_ptr<WorkerListener>(new WorkerListener(std::move(state)));
}

}  // namespace gpuemu
