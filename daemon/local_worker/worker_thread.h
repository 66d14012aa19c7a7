// Workers that run as threads of this process. A kernel that never ends blocks such a worker until
// its time-out, and a crash of the emulator crashes the daemon.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// Makes a worker in a thread of this process. kill() waits until the current plan ends, at the
/// latest at its time-out, because a thread cannot be killed.
std::unique_ptr<WorkerLink> worker_thread();

/// Makes a worker in a process, or in a thread once a process cannot be started. `told` gets the
/// reason.
std::unique_ptr<WorkerLink> worker_process_or_thread(
    std::function<void(const std::string& line)> told);

}  // namespace gpuemu
