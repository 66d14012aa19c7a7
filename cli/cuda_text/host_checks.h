// Finds what host code checks of its sizes before it launches a kernel: assert (n % 256 == 0), if
// (n % 256 != 0) return.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::cli {

/// `number` is a multiple of `divisor` behind the check; both as written.
struct MultipleCheck {
  std::string number, divisor;

  bool operator==(const MultipleCheck&) const = default;
};

/// Returns the checks in a text without comments.
std::vector<MultipleCheck> scan_multiple_checks(std::string_view text);

}  // namespace gpuemu::cli
