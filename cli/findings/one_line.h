// Prepares text of scripts, compilers and users for use within a line.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::cli {

/// Returns a message, which may contain output of scripts and compilers, as one bounded line
/// without control characters.
std::string one_line(const std::string& text);

/// Returns the columns that UTF-8 text takes, counting one per character.
size_t columns_of(std::string_view text);

/// Wraps the text at blanks to at most `columns` columns. The first line begins with `first`, the
/// others with as many blanks. 0 columns: not wrapped.
std::string wrapped(const std::string& first, std::string_view text, size_t columns);

}  // namespace gpuemu::cli
