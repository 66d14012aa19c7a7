// Finds predicates on a single integer parameter, such as `n % 256 == 1`, and the sizes that take
// their rare side.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu {

struct RareSizes {
  /// For each predicate that is true, or false, for few sizes: some of these sizes. The rarest
  /// predicates come first.
  std::vector<std::vector<int64_t>> classes;
  /// Both sides of each threshold (`n > 1024`), the largest first.
  std::vector<int64_t> thresholds;
};

/// Considers only predicates that depend on a single parameter and constants, and not those that
/// test an unchanged parameter for equality. `block` is the block size, or 0 if unknown.
RareSizes rare_sizes(const ptx::Function& function, uint32_t block);

}  // namespace gpuemu
