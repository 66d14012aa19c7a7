// Extracts what a user needs from a compiler's output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::compile {

/// Returns the first twenty lines that report an error, as printed and with the column to which a
/// caret below points; the whole text if there are none.
std::string error_lines(std::string_view log);

/// Returns the same for a compiler of CUDA sources, with what to change in gpuemu.toml or in the
/// source if that is known.
std::string source_errors(std::string_view log);

/// Removes the lines about the text that we add, in which line `first_line` + i instantiates the
/// i-th of `names`. If no others remain, returns the first one, rewritten as an error about that
/// name.
std::string without_ours(const std::string& lines, const std::string& path, size_t first_line,
                         const std::vector<std::string>& names);

}  // namespace gpuemu::compile
