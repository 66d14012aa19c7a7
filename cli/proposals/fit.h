// Determines a tensor's shape from how far a kernel accesses it at several sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu::cli {

using Sizes = std::map<std::string, int64_t>;

/// The number of elements of a tensor accessed at some sizes.
struct Reach {
  Sizes sizes;
  uint64_t elements = 0;
};

/// A size computed from others, such as the number of blocks of a grid.
struct DerivedSize {
  std::string text;
  std::vector<int64_t> values;  ///< One for each reach.
  /// It contains a size that the kernel learns only from the grid, and cannot check.
  bool only_grid = false;
  /// Each block has its own elements, as many as the text says; no size is rounded up.
  bool is_per_block = false;
};

/// Returns factors whose product is `elements` at each of `reaches`, in the order of `dims`: names,
/// "n + 1", "cdiv(n, 32)", "h - k + 1", numbers. Prefers plain names and few factors. Returns
/// nothing if no such product is known. Each reach also has a value for each of `computed`, the
/// texts of what the kernel computes from its sizes.
std::optional<std::vector<std::string>> fit_shape(const std::vector<Reach>& reaches,
                                                  const std::vector<std::string>& dims,
                                                  const std::vector<DerivedSize>& derived = {},
                                                  const std::vector<std::string>& computed = {});

/// Returns whether the kernel's text indexes `tensor` by the block number alone.
bool is_per_block(const std::string& tensor, const std::string& body);

/// Sorts `dims` in the order in which index expressions of `tensor` in the kernel's text nest them:
/// the dim that nothing is multiplied by comes first.
std::vector<std::string> nested(const std::vector<std::string>& dims, const std::string& tensor,
                                const std::string& body);

}  // namespace gpuemu::cli
