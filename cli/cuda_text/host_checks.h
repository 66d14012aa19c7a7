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

/// Returns the checks that hold at the end of a text without comments, which begins with that of a
/// function: every way to its end passes them.
std::vector<MultipleCheck> scan_multiple_checks(std::string_view written);

}  // namespace gpuemu::cli
