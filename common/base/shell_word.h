// Text as one word of a command that people paste into a shell.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu {

/// The text itself where no shell gives it a meaning, else in single quotes.
std::string shell_word(std::string_view text);

}  // namespace gpuemu
