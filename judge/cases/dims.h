// Sizes of the dims of one case.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/rng/rng.h"
#include "judge/cases/constants.h"

namespace gpuemu {

struct DimRequest {
  uint64_t base_seed = 0, iteration = 0;
  std::vector<Strategy> strategies;  ///< To draw from.
  Constants constants = {};          ///< The kernel's, for strategy `constants`.
  /// Goes through them in order, this being the case's turn; absent: by chance.
  std::optional<uint64_t> turn = {};
  /// `long_reduce` takes the largest size, `waves` the dim whose largest size is the largest.
  bool longest = false;
};

struct DimChoice {
  Strategy strategy;
  std::map<std::string, int64_t> dims;
};

/// The sizes at which mistakes show: both ends first, the others in an order of the seed. Never
/// empty, bounded however many sizes a dim may have.
std::vector<int64_t> corner_sizes(const DimSpec& dim, uint64_t base_seed);

/// Whether some dim may be one of the constants, or beside one.
bool fits_constants(const OpConfig& op, const Constants& constants);

/// Another size of the dim, near `size` or near a constant or an end of its range; `size` itself
/// when there is no other.
int64_t other_size(const DimSpec& dim, int64_t size, const Constants& constants, Stream& stream);

/// Follows from the request alone; every dim draws from its own stream.
DimChoice choose_dims(const OpConfig& op, const DimRequest& request);

/// Draws a size: each value of a set is equally likely, small sizes of a range as likely as large.
int64_t drawn_size(const DimSpec& dim, Stream& stream);

/// The dim whose largest size is the largest. REQUIRES: the op has dims.
const DimSpec& longest_dim(const OpConfig& op);

/// The size that the dim may have which is nearest to this one.
int64_t nearest_size(const DimSpec& dim, int64_t size);

/// The next smaller size that the dim may have, or the same when there is none.
int64_t smaller_size(const DimSpec& dim, int64_t size);

}  // namespace gpuemu
