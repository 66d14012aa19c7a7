// What trials of one launch showed at several sizes, and the shapes that follow from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/proposals/trial.h"

namespace gpuemu::cli {

struct Observations {
  std::vector<Sizes> sizes;
  std::vector<Extents> extents;  ///< At each of `sizes`, with indices of 0.

  /// The shape of `tensor` that explains `seen`, extents at each of the sizes. Nothing where none
  /// is known.
  std::optional<std::vector<std::string>> shape_of(const ProposedKernel& kernel,
                                                   const ProposedParam& tensor,
                                                   const std::vector<Extents>& seen) const;
};

}  // namespace gpuemu::cli
