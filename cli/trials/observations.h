// The results of trials of one launch at several sizes, and the shapes that follow from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/trials/trial.h"

namespace gpuemu::cli {

struct Observations {
  std::vector<Sizes> sizes;
  std::vector<Extents> extents;  ///< For each of `sizes`, with indices of 0.

  /// Returns the shape of `tensor` that explains `seen`, its extents at each of the sizes; nothing
  /// if none is known.
  std::optional<std::vector<std::string>> shape_of(const ProposedKernel& kernel,
                                                   const ProposedParam& tensor,
                                                   const std::vector<Extents>& seen) const;
};

}  // namespace gpuemu::cli
