// From how far a kernel goes into a tensor at several sizes to the tensor's shape.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu::cli {

using Sizes = std::map<std::string, int64_t>;

/// Elements of a tensor at some sizes.
struct Reach {
  Sizes sizes;
  uint64_t elements = 0;
};

/// A size that follows from others, such as the number of blocks of a grid.
struct DerivedSize {
  std::string text;
  std::vector<int64_t> values;  ///< At each reach.
  /// It is of a size that only the grid tells the kernel, which cannot check it.
  bool only_grid = false;
  /// Each block has elements of its own, as many as the text says: no size is rounded up.
  bool is_per_block = false;
};

/// Factors whose product is `elements` at each of `reaches`, in the order of `dims`: names, "n +
/// 1", "cdiv(n, 32)", "h - k + 1", numbers. Plain names go before others, few before many. Nothing
/// where no such product is known. Each reach has a value for each of `computed` too, texts of what
/// the kernel computes from its sizes.
std::optional<std::vector<std::string>> fit_shape(const std::vector<Reach>& reaches,
                                                  const std::vector<std::string>& dims,
                                                  const std::vector<DerivedSize>& derived = {},
                                                  const std::vector<std::string>& computed = {});

/// Whether the text of a kernel finds the elements of `tensor` by the number of the block alone.
bool is_per_block(const std::string& tensor, const std::string& body);

/// `dims` as the index expressions of `tensor` in the text of a kernel nest them: what nothing is
/// multiplied by comes first.
std::vector<std::string> nested(const std::vector<std::string>& dims, const std::string& tensor,
                                const std::string& body);

}  // namespace gpuemu::cli
