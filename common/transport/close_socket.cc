#include "common/transport/close_socket.h"

#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace gpuemu {
namespace {

constexpr std::chrono::seconds kClosePatience{1};
constexpr nng_duration kNeverMilliseconds = 24 * 3600 * 1000;
constexpr size_t kLeftMax = 64;

void take_callbacks_off(nng_socket socket) {
  nng_pipe_notify(socket, NNG_PIPE_EV_ADD_POST, nullptr, nullptr);
  nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, nullptr, nullptr);
}

/// Returns the oldest abandoned socket, if there are too many with this one.
std::optional<nng_socket> exchange_for_oldest(nng_socket socket) {
  static std::mutex mutex;
  static std::deque<nng_socket> left;
  const std::lock_guard lock(mutex);
  left.push_back(socket);
  if (left.size() <= kLeftMax) return std::nullopt;
  const nng_socket oldest = left.front();
  left.pop_front();
  return oldest;
}

}  // namespace

void close_socket(nng_socket socket) {
  take_callbacks_off(socket);
  // Shared, because if NNG does not return, its thread keeps running.
  const auto closed = std::make_shared<std::promise<void>>();
  try {
    std::thread([socket, closed] {
      nng_close(socket);
      closed->set_value();
    }).detach();
  } catch (const std::system_error&) {
    nng_close(socket);
    return;
  }
  closed->get_future().wait_for(kClosePatience);
}

void leave_socket(nng_socket socket, nng_dialer dialer) {
  take_callbacks_off(socket);
  nng_dialer_set_ms(dialer, NNG_OPT_RECONNMINT, kNeverMilliseconds);
  nng_dialer_set_ms(dialer, NNG_OPT_RECONNMAXT, kNeverMilliseconds);
  if (const auto oldest = exchange_for_oldest(socket)) close_socket(*oldest);
}

}  // namespace gpuemu
