// Private to this folder: one plan at a remote worker.
#pragma once

#include <memory>

#include "daemon/remote/remote_registry.h"

namespace gpuemu {

/// REQUIRES: the member is busy for this user alone; it is given back at the end.
std::unique_ptr<RemoteWorker> lend(std::shared_ptr<RemoteRegistry> registry,
                                   std::shared_ptr<RemoteRegistry::Member> member);

}  // namespace gpuemu
