// Translates the configuration of a launch for the driver.
#pragma once

#include <limits>

#include "bindings/libcudart/abi.h"

namespace gpuemu::libcudart {

/// Returns false without a configuration, and for one that the driver's types cannot express.
inline bool parameters_of(const LaunchConfig* config, libcuda::LaunchParameters& what) {
  if (config == nullptr || config->shared_bytes > std::numeric_limits<unsigned>::max()) {
    return false;
  }
  what = {{config->grid.x, config->grid.y, config->grid.z},
          {config->block.x, config->block.y, config->block.z},
          static_cast<unsigned>(config->shared_bytes),
          config->stream,
          config->attributes,
          config->attribute_count};
  return true;
}

}  // namespace gpuemu::libcudart
