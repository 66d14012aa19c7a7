// Private to this folder: stores tensors of a tape on a remote worker.
#pragma once

#include <memory>

#include "daemon/remote/remote_registry.h"
#include "daemon/worker/tape_channel.h"

namespace gpuemu {

/// `device` selects one of the tape's devices. The caller has already counted the channel for the
/// member.
std::shared_ptr<TapeChannel> keep_tapes(std::shared_ptr<RemoteRegistry> registry,
                                        std::shared_ptr<RemoteRegistry::Member> member,
                                        const WorkerOptions& options, size_t device);

}  // namespace gpuemu
