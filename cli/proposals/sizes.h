// Sizes to try a kernel with, and what the ones that work have in common.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/proposals/fit.h"

namespace gpuemu::cli {

/// Sets of sizes from which shapes can be told: odd ones, multiples of 32, powers of two, small
/// ones in many orders. Those that belong together stand together.
std::vector<std::vector<Sizes>> sizes_to_try(const std::vector<std::string>& dims);

/// The same for a kernel whose blocks work on large tiles: multiples of the tile for dims that
/// `tiles` names, of 16 for the others. Empty where no tile is large.
std::vector<std::vector<Sizes>> tiles_to_try(const std::vector<std::string>& dims,
                                             const std::map<std::string, int64_t>& tiles);

/// The tile of each dim that a grid rounds up: 16 of "cdiv(n, 16)".
std::map<std::string, int64_t> tiles_of(const std::vector<std::string>& grid);

/// What sizes divide others by: 32 for n of "tiles" -> "cdiv(n, 32)" and of "n / 32".
std::map<std::string, int64_t> divisors_of(const std::map<std::string, std::string>& follows);

/// The value of each dim in gpuemu.toml: "[1, 300]", "{ range = [32, 1024], multiple_of = 32 }",
/// "[48, 64, 100]" or "64". `works` says whether a kernel works with these sizes; it works with
/// `base`. Sizes that are not `meant` are not tried; of dims with a number in `steps` its multiples
/// are tried, too, and sizes behind them.
using Works = std::function<bool(const Sizes& sizes)>;
struct AllowedSizes {
  std::map<std::string, std::string> values;  ///< By dim.
  /// By dim whose values leave some between them out: one of those, with which it does not work.
  std::map<std::string, int64_t> refused;
};
AllowedSizes allowed_sizes(
    const std::vector<std::string>& dims, const Sizes& base, const Works& works,
    const Works& meant = [](const Sizes&) { return true; },
    const std::map<std::string, int64_t>& steps = {});

}  // namespace gpuemu::cli
