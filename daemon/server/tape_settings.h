// What the configuration that a daemon was started with says of tapes.
#pragma once

#include "common/config/config.h"
#include "daemon/server/lanes.h"
#include "daemon/server/open_projects.h"
#include "daemon/tapes/tapes.h"

namespace gpuemu {

/// Tapes have a device for each worker of these lanes, with the memory of one.
TapeSettings tape_settings(const Config& config, const Lanes& lanes, const DaemonFacts& facts);

}  // namespace gpuemu
