// Quotes a text as one word of a shell command that users can paste.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu {

/// Returns the text itself if it has no special characters, else in single quotes.
std::string shell_word(std::string_view text);

}  // namespace gpuemu
