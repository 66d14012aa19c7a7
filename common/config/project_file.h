// Finds the gpuemu.toml of a project without reading it.
#pragma once

#include <string>

#include "common/config/config.h"

namespace gpuemu {

/// Returns the file that the sources name, else the nearest one from the working folder upward; ""
/// if there is none. The file may be unreadable or invalid.
std::string project_file(const ConfigSources& sources);

}  // namespace gpuemu
