// The REQ socket behind Client: dials in the background, waits for the pipe, never resends.
#include "common/transport/client.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>

#include "common/base/limits.h"
#include "common/transport/close_socket.h"
#include "common/transport/socket_path.h"

namespace gpuemu {
namespace {

nng_duration milliseconds_of(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kLongest{std::chrono::hours(24)};
  return static_cast<nng_duration>(
      std::clamp(timeout, std::chrono::milliseconds(0), kLongest).count());
}

Error no_daemon(const std::string& where, const std::string& why) {
  return error(ErrorCode::Unavailable,
               "no daemon answers at {} ({}); start one with "
               "'gpuemu daemon start --background'",
               where, why);
}

}  // namespace

struct Client::State {
  nng_socket socket = NNG_SOCKET_INITIALIZER;
  nng_dialer dialer = NNG_DIALER_INITIALIZER;
  bool gave_up = false;  // A reply may still arrive.
  std::string where;
  std::mutex mutex;
  std::condition_variable changed;
  bool connected = false;

  ~State() {
    if (gave_up) {
      leave_socket(socket, dialer);
    } else {
      nng_close(socket);
    }
  }

  static void on_pipe(nng_pipe, nng_pipe_ev event, void* argument) {
    auto* state = static_cast<State*>(argument);
    const std::lock_guard lock(state->mutex);
    state->connected = event == NNG_PIPE_EV_ADD_POST;
    state->changed.notify_all();
  }
};

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::connect(const std::string& path_or_address,
                               std::chrono::milliseconds timeout) {
  const bool is_path = path_or_address.find("://") == std::string::npos;
  if (is_path) {
    // Checked first, because NNG would keep trying in the background if there is no daemon.
    GPUEMU_TRY(check_socket_path(path_or_address));
    const auto holder = holder_of(path_or_address);
    if (!holder) return no_daemon(path_or_address, holder.error().message);
  }
  auto state = std::make_unique<State>();
  state->where = path_or_address;
  int failure = nng_req0_open(&state->socket);
  if (failure != 0) return error(ErrorCode::Io, "no NNG socket: {}", nng_strerror(failure));
  nng_socket_set_ms(state->socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
  nng_socket_set_size(state->socket, NNG_OPT_RECVMAXSZ, kMessageBytesMax);
  nng_pipe_notify(state->socket, NNG_PIPE_EV_ADD_POST, &State::on_pipe, state.get());
  nng_pipe_notify(state->socket, NNG_PIPE_EV_REM_POST, &State::on_pipe, state.get());
  const std::string address = is_path ? "ipc://" + path_or_address : path_or_address;
  failure = nng_dial(state->socket, address.c_str(), &state->dialer, NNG_FLAG_NONBLOCK);
  if (failure != 0) return no_daemon(path_or_address, nng_strerror(failure));
  std::unique_lock lock(state->mutex);
  if (!state->changed.wait_for(lock, timeout, [&] { return state->connected; })) {
    lock.unlock();
    return no_daemon(path_or_address, fmt::format("no answer within {} ms", timeout.count()));
  }
  lock.unlock();
  return Client(std::move(state));
}

Result<std::string> Client::request(std::string_view request, std::chrono::milliseconds timeout) {
  GPUEMU_CHECK(state_ != nullptr);
  if (request.size() > kMessageBytesMax) {
    return error(ErrorCode::InvalidArgument, "a request of {} bytes, at most {} are possible",
                 request.size(), kMessageBytesMax);
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  nng_socket_set_ms(state_->socket, NNG_OPT_SENDTIMEO, milliseconds_of(timeout));
  nng_msg* message = nullptr;
  if (nng_msg_alloc(&message, request.size()) != 0) {
    return error(ErrorCode::ResourceExhausted, "no memory for a request of {} bytes",
                 request.size());
  }
  std::memcpy(nng_msg_body(message), request.data(), request.size());
  int failure = nng_sendmsg(state_->socket, message, 0);
  if (failure != 0) {
    nng_msg_free(message);
    return no_daemon(state_->where, fmt::format("it went away: {}", nng_strerror(failure)));
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  nng_socket_set_ms(state_->socket, NNG_OPT_RECVTIMEO, milliseconds_of(left));
  failure = nng_recvmsg(state_->socket, &message, 0);
  if (failure == NNG_ETIMEDOUT) {
    state_->gave_up = true;
    return error(ErrorCode::Timeout, "the daemon at {} sent no reply within {} ms", state_->where,
                 timeout.count());
  }
  if (failure != 0) {
    return error(ErrorCode::Unavailable, "the daemon at {} went away before it replied: {}",
                 state_->where, nng_strerror(failure));
  }
  std::string reply(static_cast<const char*>(nng_msg_body(message)), nng_msg_len(message));
  nng_msg_free(message);
  return reply;
}

}  // namespace gpuemu
