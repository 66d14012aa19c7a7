// Metrics of compiled kernels: the records of artifacts.def.
#pragma once

#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

/// How often each thing occurs, by name.
using Counts = std::map<std::string, uint32_t>;

}  // namespace gpuemu
