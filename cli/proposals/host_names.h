// What the names of a host function mean to a kernel that it launches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cuda_text/c_expression.h"
#include "cli/proposals/propose.h"

namespace gpuemu::cli {

class HostNames {
 public:
  /// Keeps references to `launch` and `definitions`.
  HostNames(const HostLaunch& launch, const SourceKernel& source, const Definitions& definitions,
            const ProposedKernel& kernel);

  /// Sizes that host code computes from others that it passes, without those that are one of them.
  /// A number counts where it is the size of a tile: `launch`, the texts of block and shared
  /// memory, has the parameter, or another size is divided by it. Others are those of an example.
  std::map<std::string, std::string> computed(const std::vector<std::string>& launch) const;

  /// In the kernel's names; other names of the host become sizes of the grid.
  std::optional<std::string> text_of(const std::string& written,
                                     std::vector<std::string>& grid_dims) const;

 private:
  /// What names in the argument of `param` mean; its own name tells nothing.
  Meaning meaning(const std::string& param = {}) const;
  /// Each size whose argument is made of other sizes and of numbers alone.
  std::map<std::string, Term> computed_terms(const std::vector<std::string>& launch) const;
  bool is_tile(const std::string& param, const std::vector<std::string>& launch) const;

  const HostLaunch& launch_;
  const Definitions& definitions_;
  std::vector<std::pair<std::string, Term>> passed_;  ///< What each parameter gets.
  std::map<std::string, std::string> plain_;
  std::vector<std::pair<Term, std::string>> whole_;
};

}  // namespace gpuemu::cli
