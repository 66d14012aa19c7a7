// Numbers in a kernel's code, for cases that meet them.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuemu {

/// Numbers in a kernel's code.
struct Constants {
  std::vector<int64_t> all = {};       ///< Sizes are compared with them.
  std::vector<int64_t> singled = {};   ///< One size by itself takes another path.
  std::vector<double> floats = {};     ///< Values of floats meet them.
  std::vector<int64_t> integers = {};  ///< Values of integers are compared with them.
  /// Sizes that take a path which few take: one of each list is enough. The rarest come first.
  std::vector<std::vector<int64_t>> classes = {};
};

}  // namespace gpuemu
