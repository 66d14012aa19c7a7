// Text of scripts, compilers and users as it may stand within a line.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::cli {

/// Messages hold what scripts and compilers print: no control characters, one line, bounded.
std::string one_line(const std::string& text);

/// Columns that UTF-8 text takes, each character one wide.
size_t columns_of(std::string_view text);

/// Breaks the text at blanks so that its lines have at most `columns` columns, the first beginning
/// with `first` and the others with as many blanks. 0 columns: not broken.
std::string wrapped(const std::string& first, std::string_view text, size_t columns);

}  // namespace gpuemu::cli
