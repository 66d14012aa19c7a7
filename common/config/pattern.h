// Whether a text is a pattern that RE2 can search for.
#pragma once

#include <optional>
#include <string>

namespace gpuemu {

/// What is wrong with the pattern; nothing when it is sound.
std::optional<std::string> pattern_problem(const std::string& pattern);

}  // namespace gpuemu
