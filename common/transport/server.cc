// Each context of the REP socket is a slot that goes round: receiving, running, sending. NNG's
// callbacks only move slots on; handlers run on threads of our own.
#include "common/transport/server.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <unistd.h>

#include "common/base/limits.h"
#include "common/protocol/json_codec.h"
#include "common/transport/close_socket.h"
#include "common/transport/socket_path.h"

namespace gpuemu {
namespace {

using std::chrono::milliseconds;

/// NNG reports a reply as sent when it is queued: how long a stopping server waits for clients to
/// take theirs and hang up, and what it adds for a large last reply.
constexpr milliseconds kFlushTime{200};
constexpr size_t kFlushBytesPerMillisecond = 100'000;

/// How often the server looks whether NNG still accepts, and how long it believes in a slow
/// machine.
constexpr milliseconds kWatchPeriod{500};
constexpr milliseconds kAcceptPatience{1000};

enum class Phase { Receiving, Running, Sending, Ended };

struct Slot {
  void* state = nullptr;
  nng_ctx context = NNG_CTX_INITIALIZER;
  nng_aio* aio = nullptr;
  Phase phase = Phase::Ended;  // Written under the state's mutex, because stop() looks at it.
};

/// A request and every slot that waits for its reply: more than one when the client repeated it.
struct Job {
  nng_msg* request = nullptr;
  uint32_t pipe = 0;
  std::vector<Slot*> slots;

  std::string_view body() const {
    return {static_cast<const char*>(nng_msg_body(request)), nng_msg_len(request)};
  }
};

}  // namespace

struct Server::State {
  Handler handler;
  ServerOptions options;
  std::filesystem::path path;
  nng_socket socket = NNG_SOCKET_INITIALIZER;
  std::vector<Slot> slots;

  std::mutex mutex;
  std::condition_variable work, ended;  // For the pool's threads; for stop().
  // All below: guarded by mutex.
  bool stopping = false, pool_ends = false;
  size_t slots_alive = 0, pipes = 0, pipes_added = 0, idle = 0, last_reply_bytes = 0;
  std::list<Job> jobs;       // Waiting and running.
  std::deque<Job*> waiting;  // Not yet taken by a thread.
  std::vector<std::thread> pool;
  std::thread watcher;

  ~State() {
    for (Slot& slot : slots) {
      if (slot.aio != nullptr) nng_aio_free(slot.aio);
    }
  }

  static void on_aio(void* argument);
  static void on_pipe(nng_pipe, nng_pipe_ev event, void* argument);
  Status open();
  Status open_slots();
  Status listen_on_path();
  void end_socket();
  Status start_threads();
  bool accepts();
  void watch();
  void receive(Slot& slot);
  void received(Slot& slot);
  void enqueue(Slot& slot, nng_msg* message);
  void send(Slot& slot, const std::string& reply);
  void end(Slot& slot);
  bool start_thread();
  void run_jobs();
  void run(Job& job);
  void wait_for_slots();
};

void Server::State::on_aio(void* argument) {
  auto& slot = *static_cast<Slot*>(argument);
  auto& state = *static_cast<State*>(slot.state);
  if (slot.phase == Phase::Receiving) return state.received(slot);
  if (nng_aio_result(slot.aio) != 0) nng_msg_free(nng_aio_get_msg(slot.aio));
  state.receive(slot);
}

void Server::State::on_pipe(nng_pipe, nng_pipe_ev event, void* argument) {
  auto& state = *static_cast<State*>(argument);
  const std::lock_guard lock(state.mutex);
  if (event == NNG_PIPE_EV_ADD_POST) {
    ++state.pipes;
    ++state.pipes_added;
  } else {
    --state.pipes;
  }
  state.ended.notify_all();
}

void Server::State::receive(Slot& slot) {
  {
    const std::lock_guard lock(mutex);
    slot.phase = stopping ? Phase::Ended : Phase::Receiving;
  }
  if (slot.phase == Phase::Ended) return end(slot);
  nng_ctx_recv(slot.context, slot.aio);
}

void Server::State::received(Slot& slot) {
  const int failure = nng_aio_result(slot.aio);
  if (failure == 0) return enqueue(slot, nng_aio_get_msg(slot.aio));
  if (failure == NNG_ECLOSED || failure == NNG_ECANCELED) return end(slot);
  receive(slot);  // Nothing was received; go round.
}

void Server::State::enqueue(Slot& slot, nng_msg* message) {
  const auto pipe = static_cast<uint32_t>(nng_pipe_id(nng_msg_get_pipe(message)));
  const std::lock_guard lock(mutex);
  slot.phase = Phase::Running;
  Job arrived{message, pipe, {&slot}};
  const auto same = std::ranges::find_if(
      jobs, [&](const Job& job) { return job.pipe == pipe && job.body() == arrived.body(); });
  if (same != jobs.end()) {
    same->slots.push_back(&slot);
    nng_msg_free(message);
    return;
  }
  waiting.push_back(&jobs.emplace_back(std::move(arrived)));
  if (idle < waiting.size() && pool.size() < options.threads_max) start_thread();
  work.notify_one();
}

/// One more for the pool, where the system has one: else those that there are take longer.
/// REQUIRES: mutex is held.
bool Server::State::start_thread() {
  try {
    pool.emplace_back([this] { run_jobs(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Server::State::send(Slot& slot, const std::string& reply) {
  nng_msg* message = nullptr;
  if (nng_msg_alloc(&message, reply.size()) != 0) return receive(slot);
  std::memcpy(nng_msg_body(message), reply.data(), reply.size());
  {
    const std::lock_guard lock(mutex);
    slot.phase = Phase::Sending;
  }
  nng_aio_set_msg(slot.aio, message);
  nng_ctx_send(slot.context, slot.aio);
}

void Server::State::end(Slot& slot) {
  const std::lock_guard lock(mutex);
  slot.phase = Phase::Ended;
  --slots_alive;
  ended.notify_all();
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
    reply = handler(job.body());
  } catch (const std::exception& failure) {
    // The last net: a request must not take the daemon down.
    reply = encode_reply(ErrorReply{WireErrorCode::InternalError,
                                    std::string("the request failed: ") + failure.what()});
  }
  std::vector<Slot*> receivers;
  nng_msg* request = job.request;
  {
    const std::lock_guard lock(mutex);
    last_reply_bytes = reply.size();
    receivers = std::move(job.slots);
    jobs.remove_if([&](const Job& other) { return &other == &job; });
  }
  nng_msg_free(request);
  for (Slot* slot : receivers) send(*slot, reply);
}

Status Server::State::open() {
  GPUEMU_TRY(check_socket_path(path));
  const UniqueFd folder_lock = GPUEMU_TRY(lock_socket_folder(path));
  GPUEMU_TRY(prepare_socket_path(path));
  int failure = nng_rep0_open(&socket);
  if (failure != 0) return error(ErrorCode::Io, "no NNG socket: {}", nng_strerror(failure));
  nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, kMessageBytesMax);
  nng_pipe_notify(socket, NNG_PIPE_EV_ADD_POST, &State::on_pipe, this);
  nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, &State::on_pipe, this);
  GPUEMU_TRY(open_slots());
  GPUEMU_TRY(listen_on_path());
  if (!options.extra_address.empty()) {
    failure = nng_listen(socket, options.extra_address.c_str(), nullptr, 0);
  }
  if (failure != 0) {
    ::unlink(path.c_str());
    return error(ErrorCode::Io, "cannot listen on {}: {}", options.extra_address,
                 nng_strerror(failure));
  }
  return start_threads();
}

/// The first of the pool, without which nobody would be answered, and the one that watches.
Status Server::State::start_threads() {
  {
    const std::lock_guard lock(mutex);
    if (pool.empty() && !start_thread()) {
      ::unlink(path.c_str());
      return error(ErrorCode::ResourceExhausted, "the system has no thread to serve {}",
                   path.native());
    }
  }
  try {
    watcher = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // Served all the same.
  }
  return ok_status();
}

Status Server::State::listen_on_path() {
  nng_listener listener = NNG_LISTENER_INITIALIZER;
  int failure = nng_listener_create(&listener, socket, ("ipc://" + path.native()).c_str());
  // NNG changes the mode between bind and listen: nobody can connect before.
  if (failure == 0) failure = nng_listener_set_int(listener, NNG_OPT_IPC_PERMISSIONS, 0600);
  if (failure == 0) failure = nng_listener_start(listener, 0);
  if (failure == 0) return ok_status();
  return error(ErrorCode::Io, "cannot listen on {}: {}", path.native(), nng_strerror(failure));
}

/// Whether the path is another daemon's by now.
bool is_anothers(const Result<std::string>& holder) {
  return holder && !holder->starts_with(fmt::format("process {} ", ::getpid()));
}

/// Whether a connection of our own becomes a pipe. True as well when the path is another daemon's:
/// it is not ours to take back.
bool Server::State::accepts() {
  std::unique_lock lock(mutex);
  const size_t before = pipes_added;
  lock.unlock();
  const auto holder = holder_of(path);
  if (!holder) return holder.error().code != ErrorCode::NotFound;
  if (is_anothers(holder)) return true;
  lock.lock();
  return ended.wait_for(lock, kAcceptPatience, [&] { return stopping || pipes_added != before; });
}

/// NNG 1.5 ends a listener for good when a peer hangs up in the middle of the handshake, as a
/// killed client does: its listener_accept_cb takes NNG_ECLOSED for its own end. A new listener
/// takes the path over; the old one stays, because closing it would cut off its clients and remove
/// the file.
void Server::State::watch() {
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, kWatchPeriod, [&] { return stopping; })) {
    lock.unlock();
    if (!accepts()) {
      const auto folder_lock = lock_socket_folder(path);
      ::unlink(path.c_str());
      // When it fails, the path is missing and the next round tries again.
      const Status listening = listen_on_path();
      static_cast<void>(listening.ok());
    }
    lock.lock();
  }
}

Status Server::State::open_slots() {
  slots = std::vector<Slot>(std::max<size_t>(options.queued_max, 1));
  for (Slot& slot : slots) {
    slot.state = this;
    int failure = nng_aio_alloc(&slot.aio, &State::on_aio, &slot);
    if (failure == 0) failure = nng_ctx_open(&slot.context, socket);
    if (failure != 0) {
      return error(ErrorCode::ResourceExhausted, "no NNG context: {}", nng_strerror(failure));
    }
  }
  slots_alive = slots.size();
  for (Slot& slot : slots) receive(slot);
  return ok_status();
}

void Server::State::wait_for_slots() {
  // Asked again and again, because a slot may start to receive just after it was cancelled.
  constexpr milliseconds kAskAgain{10};
  std::unique_lock lock(mutex);
  while (slots_alive > 0) {
    std::vector<nng_aio*> receiving;
    for (const Slot& slot : slots) {
      if (slot.phase == Phase::Receiving) receiving.push_back(slot.aio);
    }
    lock.unlock();
    for (nng_aio* aio : receiving) nng_aio_cancel(aio);
    lock.lock();
    ended.wait_for(lock, kAskAgain, [&] { return slots_alive == 0; });
  }
  const milliseconds flush =
      kFlushTime + milliseconds(last_reply_bytes / kFlushBytesPerMillisecond);
  ended.wait_for(lock, flush, [&] { return pipes == 0; });
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::listen(const std::filesystem::path& socket_path,
                                               Handler handler, const ServerOptions& options) {
  auto state = std::make_unique<State>();
  state->handler = std::move(handler);
  state->options = options;
  state->path = socket_path;
  const Status opened = state->open();
  if (!opened) {
    close_socket(state->socket);
    return opened.error();
  }
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

void Server::stop() {
  State& state = *state_;
  {
    const std::lock_guard lock(state.mutex);
    if (state.stopping) return;
    state.stopping = true;
  }
  state.ended.notify_all();
  if (state.watcher.joinable()) state.watcher.join();
  state.wait_for_slots();
  {
    const std::lock_guard lock(state.mutex);
    state.pool_ends = true;
  }
  state.work.notify_all();
  // Before the socket closes: a reply's callback may come while nng_ctx_send still returns here.
  for (std::thread& thread : state.pool) thread.join();
  state.end_socket();
}

/// NNG removes whatever lies at the path: another daemon's socket steps aside meanwhile.
void Server::State::end_socket() {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) {
    close_socket(socket);
    return;
  }
  const auto folder_lock = lock_socket_folder(path);  // Nobody takes the path meanwhile.
  const std::string aside = fmt::format("{}.{}", path.native(), ::getpid());
  const bool keeps = is_anothers(holder_of(path)) && ::rename(path.c_str(), aside.c_str()) == 0;
  close_socket(socket);
  if (keeps) ::rename(aside.c_str(), path.c_str());
}

}  // namespace gpuemu
