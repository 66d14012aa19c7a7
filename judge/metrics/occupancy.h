// Theoretical occupancy: how many warps of a kernel one multiprocessor can hold at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/protocol/artifacts.h"

namespace gpuemu {

struct LaunchFootprint {
  uint32_t threads = 0;  ///< Per block.
  uint64_t dynamic_shared_bytes = 0;
};

/// Unsupported for an architecture whose limits are not known here; InvalidArgument for a launch
/// that the architecture refuses.
Result<Occupancy> occupancy_of(const CompiledMetrics& kernel, const LaunchFootprint& launch);

}  // namespace gpuemu
