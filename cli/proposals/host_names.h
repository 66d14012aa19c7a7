// Translates names of a host function to names of the kernel that it launches.
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

  /// Returns the sizes that host code computes from other sizes that it passes, except those equal
  /// to one of them. A number counts only if it is the size of a tile: `launch`, the texts of block
  /// and shared memory, contains the parameter, or another size is divided by it. Other numbers
  /// belong to an example.
  std::map<std::string, std::string> computed(const std::vector<std::string>& launch) const;

  /// Returns whether host code checks before the launch that this size is a multiple of `block`.
  bool checks_multiples(const std::string& dim, int64_t block) const;
  /// Returns whether host code passes a number for this size that is a multiple of `block`.
  bool passes_multiple(const std::string& dim, int64_t block) const;

  /// Returns the text in the kernel's names; other names of the host become sizes of the grid.
  std::optional<std::string> text_of(const std::string& written,
                                     std::vector<std::string>& grid_dims) const;

 private:
  bool is_multiple(const Term& term, const std::string& dim, int64_t block) const;
  /// Returns the meaning of names in the argument of `param`; the name of `param` itself is
  /// excluded.
  Meaning meaning(const std::string& param = {}) const;
  /// Returns each size whose argument consists of other sizes and numbers only.
  std::map<std::string, Term> computed_terms(const std::vector<std::string>& launch) const;
  /// Replaces what is passed for other sizes by their names, also where it is a part of a product.
  Term with_passed(const Term& term, const std::string& param) const;
  bool is_tile(const std::string& param, const std::vector<std::string>& launch) const;

  const HostLaunch& launch_;
  const Definitions& definitions_;
  std::vector<std::pair<std::string, Term>> passed_;  ///< The argument of each size, unless it
                                                      ///< is a number.
  std::map<std::string, int64_t> numbers_;            ///< The sizes that are passed as numbers.
  std::map<std::string, std::string> plain_;
  std::vector<std::pair<Term, std::string>> whole_;
};

}  // namespace gpuemu::cli
