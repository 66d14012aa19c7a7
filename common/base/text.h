// Removes blanks around text, and writes counts with their nouns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuemu {

/// Returns the text without spaces, tabs and line ends at its ends.
std::string_view trimmed(std::string_view text);

/// Returns "1 case" or "2 cases" for the noun "case", "2 classes" for "class", "2 launches" for
/// "launch".
std::string counted(uint64_t count, std::string_view noun);

}  // namespace gpuemu
