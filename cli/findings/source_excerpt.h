// The source lines that a finding is about, with marks below them.
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
  std::string label;  ///< Stands behind the mark; "" for none.
};

struct ExcerptStyle {
  std::string folder;  ///< Files below it are named relative to it.
  size_t columns = 0;  ///< 0: lines are not cut.
};

/// "kernels/scale.cu:7:10"; without the column or the line where they are unknown.
std::string place_text(const SourceMark& mark, const ExcerptStyle& style);

/// The place of the first mark, then the lines of all marks that are in its file, the first marked
/// with '^' and others with '-', the whole line where the column is unknown; marks in other files
/// follow likewise. Tabs are blanks, characters
/// that cannot be shown are '?', long lines are cut around the mark. A file that cannot be read or
/// has no such line gives its place alone. `gutter` gets the width of the line numbers.
std::string source_excerpt(const std::vector<SourceMark>& marks, const ExcerptStyle& style,
                           size_t& gutter);

struct SourceLine {
  uint32_t number = 0;
  std::string text;  ///< As source_excerpt() shows it, cut at 200 columns.
};

/// The lines from `around` before `line` to as many after it; empty where the file cannot be read
/// or has no such line.
std::vector<SourceLine> source_lines(const std::string& file, uint32_t line, uint32_t around);

}  // namespace gpuemu::cli
