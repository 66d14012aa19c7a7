// Theoretical occupancy: how many warps of a kernel a multiprocessor can hold at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

struct LaunchFootprint {
  uint32_t threads = 0;  ///< Per block.
  uint64_t dynamic_shared_bytes = 0;
};

/// Unsupported if the architecture's limits are unknown; InvalidArgument for a launch that the
/// architecture refuses.
Result<Occupancy> occupancy_of(const CompiledMetrics& kernel, const LaunchFootprint& launch);

}  // namespace gpuemu
