// Checks for well-formed UTF-8 (The Unicode Standard, table 3-7): no overlong forms, no surrogates.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuemu {

/// Returns the bytes of the character at the start; 0 if it is not valid. Requires !text.empty().
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace gpuemu
