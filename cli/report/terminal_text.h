// Formats text reports for a terminal: coloured, aligned, and wrapped at its width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuemu::cli {

struct TerminalStyle {
  bool colours = false;
  size_t columns = 0;  ///< 0: lines are not wrapped.
};

/// Formats a report for a terminal without changing its words. Names after [PASS], [FAIL] and
/// similar tags are aligned, continuation lines are indented, verdicts have a colour. REQUIRES: no
/// control characters except line breaks.
std::string for_terminal(std::string_view text, const TerminalStyle& style);

}  // namespace gpuemu::cli
