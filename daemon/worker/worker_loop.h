// The worker's side: answers messages over a socket, with one device, until the socket closes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "common/base/arena.h"
#include "runtime/device/device.h"

namespace gpuemu {

/// Answers a request of daemon/tapes.
using TapeHandler = std::function<std::vector<std::byte>(std::span<const std::byte> request)>;

/// Sends Hello, then serves plans of these arenas (ExecutionPlan::arena). Returns when the daemon
/// has closed the socket. Errors: Unavailable if the device is lost (the daemon has been informed,
/// and must start a new process), Corruption for bytes that no daemon sends.
Status run_worker_loop(Device& device, std::vector<Arena> arenas, int socket,
                       const TapeHandler& tapes = nullptr);

/// Used instead of the loop if there is no device: reports the reason to the daemon.
Status report_no_device(const Error& why, int socket);

}  // namespace gpuemu
