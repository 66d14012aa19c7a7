// The type of the metrics that count things by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gpuemu {

/// How often each thing occurs, by name.
using Counts = std::map<std::string, uint32_t>;

}  // namespace gpuemu
