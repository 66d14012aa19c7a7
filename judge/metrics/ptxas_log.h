// What `ptxas -v` prints, read as numbers per entry.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/protocol/artifacts.h"

namespace gpuemu {

/// By entry as the PTX names it. Lines and members that are not known are passed over: ptxas adds
/// some with every release and leaves out what is zero.
std::map<std::string, CompiledMetrics> read_ptxas_log(std::string_view log);

}  // namespace gpuemu
