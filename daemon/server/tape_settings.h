// The settings for tapes in the configuration with which a daemon was started.
#pragma once

#include "common/config/config.h"
#include "daemon/server/lanes.h"
#include "daemon/server/open_projects.h"
#include "daemon/tapes/tapes.h"

namespace gpuemu {

/// Tapes get one device per worker of these lanes, each with that worker's memory.
TapeSettings tape_settings(const Config& config, const Lanes& lanes, const DaemonFacts& facts);

}  // namespace gpuemu
