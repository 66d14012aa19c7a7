// A worker from its device's opening to its end.
#pragma once

#include <vector>

#include "common/base/arena.h"
#include "common/base/result.h"
#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// Opens the device and answers the daemon's messages over the socket until it closes; tells the
/// daemon, and returns, why there is no device. Errors as run_worker_loop().
Status serve_worker(const WorkerOptions& options, std::vector<Arena> arenas, int socket);

}  // namespace gpuemu
