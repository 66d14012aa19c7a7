// The text reports on a terminal: coloured, aligned, and broken where the terminal ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuemu::cli {

struct TerminalStyle {
  bool colours = false;
  size_t columns = 0;  ///< 0: lines are not broken.
};

/// Lays out a report for a terminal, words unchanged. Names behind [PASS], [FAIL] and the like
/// begin and end in one column, what follows a break is indented, verdicts have a colour. REQUIRES:
/// no control characters but line breaks.
std::string for_terminal(std::string_view text, const TerminalStyle& style);

}  // namespace gpuemu::cli
