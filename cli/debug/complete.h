// Completion with Tab. No side effects.
#pragma once

#include <string>
#include <vector>

#include "cli/debug/context.h"

namespace gpuemu::cli {

/// Returns the words that could replace the last one of `line`, which is typed up to the cursor.
std::vector<std::string> completions(const DebugContext& context, const std::string& line);
/// Returns what is typed of the last word; "" after a space.
std::string last_word(const std::string& line);
/// Returns the common prefix. REQUIRES: not empty.
std::string common_begin(const std::vector<std::string>& words);

}  // namespace gpuemu::cli
