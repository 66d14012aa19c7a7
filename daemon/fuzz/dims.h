// Sizes of the dims of one case.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace gpuemu {

struct DimRequest {
  uint64_t base_seed = 0, iteration = 0;
  uint64_t row = 0;  ///< Counts the cases of one dtype; the first ones walk the corners.
  bool corners = true;
  std::vector<std::string> strategies;  ///< To draw from.
};

struct DimChoice {
  std::string strategy;
  std::map<std::string, int64_t> dims;
};

/// Follows from the request alone; every dim draws from its own stream.
DimChoice choose_dims(const OpConfig& op, const DimRequest& request);

/// The next smaller size that the dim may have, or the same when there is none.
int64_t smaller_size(const DimSpec& dim, int64_t size);

}  // namespace gpuemu
