// What a kernel may expect of its sizes together: that one is a multiple of another, or not larger.
#pragma once

#include <string>
#include <vector>

#include "cli/proposals/fit.h"
#include "cli/proposals/propose.h"

namespace gpuemu::cli {

struct Requirement {
  std::string text;           ///< As gpuemu.toml has it: "head_size % x == 0".
  std::string larger, other;  ///< Its two sizes.
  bool is_multiple = false;

  bool holds(const Sizes& sizes) const;
  /// Sizes near `sizes` for which it holds.
  Sizes met(const Sizes& sizes) const;
};

/// What the kernel's text suggests, the likeliest first: it divides one size by another, or
/// compares with one and multiplies by the other.
std::vector<Requirement> requirements_of(const ProposedKernel& kernel);

}  // namespace gpuemu::cli
