// Private to this folder: tensors of a tape at a remote worker.
#pragma once

#include <memory>

#include "daemon/remote/remote_registry.h"
#include "daemon/worker/tape_channel.h"

namespace gpuemu {

/// `device`: which of the tape's devices it is. The member has counted the channel.
std::shared_ptr<TapeChannel> keep_tapes(std::shared_ptr<RemoteRegistry> registry,
                                        std::shared_ptr<RemoteRegistry::Member> member,
                                        const WorkerOptions& options, size_t device);

}  // namespace gpuemu
