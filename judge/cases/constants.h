// Numbers in a kernel's code, used to generate cases that hit them.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuemu {

/// Numbers in a kernel's code.
struct Constants {
  std::vector<int64_t> all = {};       ///< Compared with sizes.
  std::vector<int64_t> singled = {};   ///< A single size takes another path.
  std::vector<double> floats = {};     ///< Compared with float values.
  std::vector<int64_t> integers = {};  ///< Compared with integer values.
  /// Sizes that take a rare path: one of each list is enough. The rarest come first.
  std::vector<std::vector<int64_t>> classes = {};
};

}  // namespace gpuemu
