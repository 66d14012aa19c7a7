// A tape's device in a worker.
#pragma once

#include <memory>

#include "daemon/tapes/tape_device.h"
#include "daemon/worker/tape_channel.h"

namespace gpuemu {

/// Unavailable if the worker is lost immediately; otherwise the reason why it has no device.
Result<std::shared_ptr<TapeDevice>> open_worker_tape_device(std::shared_ptr<TapeChannel> channel);

}  // namespace gpuemu
