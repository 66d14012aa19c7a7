// Shows the source lines that a finding refers to, with marks below them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuemu::cli {

/// A place in a source file. Lines and columns count from 1; 0: unknown.
struct SourceMark {
  std::string file;
  uint32_t line = 0, column = 0;
  std::string label;  ///< Follows the mark; "" for none.
};

struct ExcerptStyle {
  std::string folder;  ///< Files below it are shown relative to it.
  size_t columns = 0;  ///< 0: lines are not cut.
};

/// Returns "kernels/scale.cu:7:10", without column or line if they are unknown.
std::string place_text(const SourceMark& mark, const ExcerptStyle& style);

/// Returns the location of the first mark, then the lines of all marks in its file, the first
/// marked with '^' and others with '-', or as a whole if the column is unknown. Marks in other
/// files follow in the same way. Tabs become blanks, unprintable characters become '?', and long
/// lines are cut around the mark. If the file cannot be read or has no such line, returns only the
/// location. `gutter` gets the width of the line numbers.
std::string source_excerpt(const std::vector<SourceMark>& marks, const ExcerptStyle& style,
                           size_t& gutter);

struct SourceLine {
  uint32_t number = 0;
  std::string text;  ///< As shown by source_excerpt(), cut at 200 columns.
};

/// Returns the lines from `around` before `line` to `around` after it; empty if the file cannot be
/// read or has no such line.
std::vector<SourceLine> source_lines(const std::string& file, uint32_t line, uint32_t around);

}  // namespace gpuemu::cli
