// Private to this folder: runs one plan on a remote worker.
#pragma once

#include <memory>

#include "daemon/remote/remote_registry.h"

namespace gpuemu {

/// REQUIRES: the member is reserved for this user; it is returned at the end.
std::unique_ptr<RemoteWorker> lend(std::shared_ptr<RemoteRegistry> registry,
                                   std::shared_ptr<RemoteRegistry::Member> member);

}  // namespace gpuemu
