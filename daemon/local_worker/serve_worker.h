// Runs a worker from the opening of its device to its end.
#pragma once

#include <vector>

#include "common/base/arena.h"
#include "common/base/result.h"
#include "daemon/worker/worker_client.h"

namespace gpuemu {

/// Opens the device and answers the daemon's messages on the socket until it is closed. If the
/// device cannot be opened, reports why to the daemon and returns. Errors as for run_worker_loop().
Status serve_worker(const WorkerOptions& options, std::vector<Arena> arenas, int socket);

}  // namespace gpuemu
