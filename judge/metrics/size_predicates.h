// What code asks of one integer parameter alone, such as `n % 256 == 1`, and the sizes for which
// the answer is a rare one.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu {

struct RareSizes {
  /// Some sizes for each predicate that few sizes fulfil, or few do not; the rarest first.
  std::vector<std::vector<int64_t>> classes;
  /// Both sides of each threshold (`n > 1024`), the largest first.
  std::vector<int64_t> thresholds;
};

/// Only predicates that follow from a single parameter and constants count, and not those that ask
/// whether the parameter as it is equals a number. `block` is the block size where it is known,
/// else 0.
RareSizes rare_sizes(const ptx::Function& function, uint32_t block);

}  // namespace gpuemu
