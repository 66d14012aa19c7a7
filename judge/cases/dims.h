// Chooses the sizes of the dims of one case.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/op_config.h"
#include "common/rng/rng.h"
#include "judge/cases/constants.h"

namespace gpuemu {

struct DimRequest {
  uint64_t base_seed = 0, iteration = 0;
  std::vector<Strategy> strategies;  ///< Strategies to draw from.
  Constants constants = {};          ///< The kernel's numbers, for strategy `constants`.
  /// Index into the sequence of constants; absent: a random choice.
  std::optional<uint64_t> turn = {};
  /// `long_reduce` takes the largest size, `waves` the dim with the largest maximum.
  bool longest = false;
};

struct DimChoice {
  Strategy strategy;
  std::map<std::string, int64_t> dims;
};

/// Returns the sizes that reveal mistakes: both ends first, the others in an order drawn from the
/// seed. Never empty, and bounded even for dims with many sizes.
std::vector<int64_t> corner_sizes(const DimSpec& dim, uint64_t base_seed);

/// Returns whether some dim can have one of the constants, or a neighbour of one, as its size.
bool fits_constants(const OpConfig& op, const Constants& constants);

/// Returns another size of the dim, near `size`, a constant or an end of its range; `size` itself
/// if there is no other.
int64_t other_size(const DimSpec& dim, int64_t size, const Constants& constants, Stream& stream);

/// Depends on the request alone. Every dim draws from a stream of its own.
DimChoice choose_dims(const OpConfig& op, const DimRequest& request);

/// Draws a size: each value of a set is equally likely; in a range, small sizes are as likely as
/// large ones.
int64_t drawn_size(const DimSpec& dim, Stream& stream);

/// Returns the dim with the largest maximum. Requires the op to have dims.
const DimSpec& longest_dim(const OpConfig& op);

/// Returns the allowed size of the dim that is nearest to this one.
int64_t nearest_size(const DimSpec& dim, int64_t size);

/// Returns the next smaller size of the dim, or the same one if there is none.
int64_t smaller_size(const DimSpec& dim, int64_t size);

}  // namespace gpuemu
