// Which gpuemu.toml is meant, before it is read.
#pragma once

#include <string>

#include "common/config/config.h"

namespace gpuemu {

/// The file that the sources name, else the nearest from the working folder upwards; "" for none.
/// It need not be readable or right.
std::string project_file(const ConfigSources& sources);

}  // namespace gpuemu
