// Workers without processes of their own. A kernel that never ends holds such a worker until its
// time-out, and a crash of the emulator is the daemon's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// A thread of this process. kill() waits until the plan in flight ends, at the latest at its
/// time-out: a thread cannot be killed.
std::unique_ptr<WorkerLink> worker_thread();

/// A process; from the first one on that cannot be started, a thread. `told` learns why.
std::unique_ptr<WorkerLink> worker_process_or_thread(
    std::function<void(const std::string& line)> told);

}  // namespace gpuemu
