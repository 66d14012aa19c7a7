// Conditions that a kernel may expect of its sizes together: that one is a multiple of another, or
// not larger.
#pragma once

#include <string>
#include <vector>

#include "cli/proposals/fit.h"
#include "cli/proposals/propose.h"

namespace gpuemu::cli {

struct Requirement {
  std::string text;           ///< In the language of gpuemu.toml: "head_size % x == 0".
  std::string larger, other;  ///< Its two sizes.
  bool is_multiple = false;

  bool holds(const Sizes& sizes) const;
  /// Returns sizes near `sizes` that meet the condition.
  Sizes met(const Sizes& sizes) const;
};

/// Returns whether the kernel's text compares an index with the size.
bool is_compared(const ProposedKernel& kernel, const std::string& dim);

/// Returns whether an index expression multiplies the size, or the text a block's number by it.
bool is_row_length(const ProposedKernel& kernel, const ProposedParam& dim);

/// Returns the conditions that the kernel's text suggests, the most likely first: it divides one
/// size by another, or compares with one and multiplies by the other.
std::vector<Requirement> requirements_of(const ProposedKernel& kernel);

}  // namespace gpuemu::cli
