// Generates the sizes for trying a kernel, and describes the sizes that work.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/proposals/fit.h"

namespace gpuemu::cli {

/// Returns sets of sizes from which shapes can be determined: odd ones, multiples of 32, powers of
/// two, small ones in many orders. Sets of one kind are grouped.
std::vector<std::vector<Sizes>> sizes_to_try(const std::vector<std::string>& dims);

/// Returns the same for a kernel whose blocks work on large tiles: multiples of the tile for dims
/// in `tiles`, of 16 or 32 for the others. Empty if no tile is large.
std::vector<std::vector<Sizes>> tiles_to_try(const std::vector<std::string>& dims,
                                             const std::map<std::string, int64_t>& tiles);

/// Returns the tile of each dim that a grid rounds up: 16 for "cdiv(n, 16)".
std::map<std::string, int64_t> tiles_of(const std::vector<std::string>& grid);

/// Returns the divisors of sizes: 32 for n in "tiles" -> "cdiv(n, 32)" and in "n / 32".
std::map<std::string, int64_t> divisors_of(const std::map<std::string, std::string>& follows);

/// Determines the value of each dim in gpuemu.toml: "[1, 300]", "{ range = [32, 1024], multiple_of
/// = 32 }", "[48, 64, 100]" or "64". `works` returns whether a kernel works with these sizes; it
/// works with `base`. Sizes that are not `meant` are not tried; for dims with a number in `steps`,
/// its multiples and the sizes after them are tried, too.
using Works = std::function<bool(const Sizes& sizes)>;
struct AllowedSizes {
  std::map<std::string, std::string> values;  ///< By dim.
  /// For dims whose values leave out some in between: one of those, with which the kernel fails.
  std::map<std::string, int64_t> refused;
};
AllowedSizes allowed_sizes(
    const std::vector<std::string>& dims, const Sizes& base, const Works& works,
    const Works& meant = [](const Sizes&) { return true; },
    const std::map<std::string, int64_t>& steps = {});

/// Returns how many of these dims have only a few small values: their dependency on another size
/// was not found.
size_t narrow_dims(const std::map<std::string, std::string>& values);

}  // namespace gpuemu::cli
