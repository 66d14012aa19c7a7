// One thread reads and writes all sockets and never blocks; handlers run on the threads of a pool.
#include "common/transport/server.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/eventfd.h>

#include "common/codec/json_codec.h"
#include "common/transport/client_table.h"
#include "common/transport/listener.h"

namespace gpuemu {
namespace {

using std::chrono::milliseconds;

/// Time that a stopping server gives clients to receive their replies, and the additional time for
/// large ones.
constexpr milliseconds kFlushTime{200};
constexpr size_t kFlushBytesPerMillisecond = 100'000;

/// Interval at which the server checks its socket file and slow clients.
constexpr milliseconds kWatchPeriod{500};
/// Clients accepted in a row, so that connected ones do not wait for many new ones.
constexpr int kAcceptedMax = 64;

constexpr uint64_t kListenerNumber = 1, kWakeNumber = 2;

/// The receiver of a reply.
struct Receiver {
  uint64_t client = 0;
  std::string stack;
};

/// A request and everyone who waits for its reply: several if the client repeated it.
struct Job {
  RequestMessage request;
  ClientPeer peer;
  std::vector<Receiver> receivers;
};

struct FinishedJob {
  std::vector<Receiver> receivers;
  std::string reply;
};

}  // namespace

struct Server::State {
  Handler handler;
  ServerOptions options;
  std::filesystem::path path;
  UniqueFd wake;  // Readable when the I/O thread has work.

  // Used by the I/O thread only, once it runs.
  ClientTable clients;
  std::optional<Listener> listener;
  std::vector<RequestMessage> arrived;

  std::mutex mutex;
  std::condition_variable work, ended;  // For the pool's threads; for stop().
  // The members below are guarded by mutex.
  bool stopping = false, pool_ends = false, closes = false;
  size_t idle = 0, last_reply_bytes = 0;
  std::list<Job> jobs;       // Waiting and running.
  std::deque<Job*> waiting;  // Not yet taken by a thread.
  std::deque<FinishedJob> finished;
  std::vector<std::thread> pool;
  std::thread io_thread;

  explicit State(const ServerOptions& wanted) : options(wanted), clients(wanted.connections_max) {}

  Status open();
  void signal();
  void run_io();
  void handle_event(const epoll_event& event);
  void accept_clients();
  void restore_socket_file();
  void enqueue(const ClientPeer& peer, RequestMessage message);
  void tell_arrivals();
  void deliver_finished();
  void flush();
  bool start_thread();
  void run_jobs();
  void run(Job& job);
};

Status Server::State::open() {
  wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return error(ErrorCode::ResourceExhausted, "no eventfd: {}", std::strerror(errno));
  GPUEMU_TRY(clients.open());
  listener.emplace(GPUEMU_TRY(Listener::open(path, options.group)));
  GPUEMU_TRY(clients.watch(wake.get(), kWakeNumber));
  GPUEMU_TRY(clients.watch(listener->socket(), kListenerNumber));
  const std::lock_guard lock(mutex);
  // The first thread of the pool, without which no request would be answered.
  if (start_thread()) {
    try {
      io_thread = std::thread([this] { run_io(); });
      return ok_status();
    } catch (const std::system_error&) {  // The system has no thread for this, or for the pool.
    }
  }
  return error(ErrorCode::ResourceExhausted, "the system has no thread to serve {}", path.native());
}

void Server::State::signal() {
  const uint64_t one = 1;
  // Fails only if the counter is full; the thread then wakes up anyway.
  [[maybe_unused]] const ssize_t put = ::write(wake.get(), &one, sizeof one);
}

void Server::State::run_io() {
  auto next_watch = Connection::Clock::now() + kWatchPeriod;
  std::vector<epoll_event> events;
  bool stops = false;
  while (!stops) {
    const int count = clients.wait(events, static_cast<int>(kWatchPeriod.count()));
    for (int i = 0; i < count; ++i) handle_event(events[static_cast<size_t>(i)]);
    deliver_finished();
    tell_arrivals();
    const auto now = Connection::Clock::now();
    if (now >= next_watch) {
      next_watch = now + kWatchPeriod;
      clients.close_overdue();
      restore_socket_file();
    }
    const std::lock_guard lock(mutex);
    clients.set_reading(!stopping && jobs.size() < options.queued_max);
    if (stopping && listener) {
      clients.unwatch(listener->socket());
      listener.reset();
    }
    stops = closes;
  }
  flush();
}

void Server::State::handle_event(const epoll_event& event) {
  if (event.data.u64 == kListenerNumber) return accept_clients();
  if (event.data.u64 == kWakeNumber) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake.get(), &count, sizeof count);
    return;
  }
  Connection* client = clients.find(event.data.u64);
  if (client == nullptr) return;
  if ((event.events & EPOLLOUT) != 0) client->write();
  if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    arrived.clear();
    client->read(arrived);
    tell_arrivals();  // Before their requests.
    for (RequestMessage& message : arrived) enqueue(client->peer(), std::move(message));
  }
  clients.settle(*client);
}

void Server::State::accept_clients() {
  for (int i = 0; i < kAcceptedMax; ++i) {
    const int socket = listener->accept();
    if (socket >= 0) {
      clients.add(UniqueFd(socket));
      continue;
    }
    const bool no_descriptor = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    if (no_descriptor && clients.give_up_one()) continue;
    // A client left waiting would wake this thread again and again.
    if (no_descriptor) std::this_thread::sleep_for(milliseconds(10));
    return;
  }
}

/// Recreates the socket file if a cleanup job removed it, because then nobody could connect.
void Server::State::restore_socket_file() {
  if (!listener || !listener->is_missing()) return;
  auto again = Listener::open(path, options.group);
  if (!again) return;  // Retried after the next period.
  accept_clients();    // Accepts clients that connected before the file was removed.
  clients.unwatch(listener->socket());
  listener.emplace(*std::move(again));
  const Status watched = clients.watch(listener->socket(), kListenerNumber);
  if (!watched) listener.reset();
}

void Server::State::tell_arrivals() {
  for (const ClientPeer& peer : clients.take_arrived()) {
    if (options.on_connected) options.on_connected(peer);
  }
  for (const ClientPeer& peer : clients.take_gone()) {
    if (options.on_disconnected) options.on_disconnected(peer);
  }
}

void Server::State::enqueue(const ClientPeer& peer, RequestMessage message) {
  const std::lock_guard lock(mutex);
  if (stopping) return;
  clients.begin_request(peer.connection);
  Receiver receiver{peer.connection, std::string(message.stack())};
  const auto same = std::ranges::find_if(jobs, [&](const Job& job) {
    return job.peer.connection == peer.connection && job.request.body() == message.body();
  });
  if (same != jobs.end()) {
    same->receivers.push_back(std::move(receiver));
    return;
  }
  Job& job = jobs.emplace_back();
  job.request = std::move(message);
  job.peer = peer;
  job.receivers.push_back(std::move(receiver));
  waiting.push_back(&job);
  if (idle < waiting.size() && pool.size() < options.threads_max) start_thread();
  work.notify_one();
}

/// Adds a thread to the pool if the system allows it; otherwise the existing threads take longer.
/// Requires the mutex to be held.
bool Server::State::start_thread() {
  try {
    pool.emplace_back([this] { run_jobs(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Server::State::run_jobs() {
  std::unique_lock lock(mutex);
  while (true) {
    ++idle;
    work.wait(lock, [&] { return pool_ends || !waiting.empty(); });
    --idle;
    if (waiting.empty()) return;
    Job* job = waiting.front();
    waiting.pop_front();
    lock.unlock();
    run(*job);
    lock.lock();
  }
}

void Server::State::run(Job& job) {
  std::string reply;
  try {
    reply = handler(job.request.body(), job.peer);
  } catch (const std::exception& failure) {
    // The last resort: a request must not end the daemon.
    reply = encode_reply(ErrorReply{WireErrorCode::InternalError,
                                    std::string("the request failed: ") + failure.what()});
  }
  {
    const std::lock_guard lock(mutex);
    last_reply_bytes = reply.size();
    finished.push_back({std::move(job.receivers), std::move(reply)});
    jobs.remove_if([&](const Job& other) { return &other == &job; });
    if (jobs.empty()) ended.notify_all();
  }
  signal();
}

void Server::State::deliver_finished() {
  std::deque<FinishedJob> replies;
  {
    const std::lock_guard lock(mutex);
    replies.swap(finished);
  }
  for (FinishedJob& job : replies) {
    for (Receiver& receiver : job.receivers) {
      clients.end_request(receiver.client);
      Connection* client = clients.find(receiver.client);
      if (client == nullptr) continue;
      const bool last = &receiver == &job.receivers.back();
      client->reply(receiver.stack, last ? std::move(job.reply) : job.reply);
      clients.settle(*client);
    }
  }
}

/// Bytes that the kernel has accepted reach the reader even after this process has ended.
void Server::State::flush() {
  deliver_finished();
  const auto deadline = Connection::Clock::now() + kFlushTime +
                        milliseconds(last_reply_bytes / kFlushBytesPerMillisecond);
  constexpr int kPollMilliseconds = 10;
  std::vector<epoll_event> events;
  while (clients.has_output() && Connection::Clock::now() < deadline) {
    const int count = clients.wait(events, kPollMilliseconds);
    for (int i = 0; i < count; ++i) handle_event(events[static_cast<size_t>(i)]);
  }
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::listen(const std::filesystem::path& socket_path,
                                               Handler handler, const ServerOptions& options) {
  auto state = std::make_unique<State>(options);
  state->handler = std::move(handler);
  state->path = socket_path;
  std::unique_ptr<Server> server(new Server(std::move(state)));
  GPUEMU_TRY(server->state_->open());
  return server;
}

void Server::stop() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (state.stopping) return;
  state.stopping = true;
  state.signal();
  state.ended.wait(lock, [&] { return state.jobs.empty(); });
  state.pool_ends = true;
  state.closes = true;
  lock.unlock();
  state.work.notify_all();
  for (std::thread& thread : state.pool) thread.join();
  if (!state.io_thread.joinable()) return;
  state.signal();
  state.io_thread.join();
}

}  // namespace gpuemu
