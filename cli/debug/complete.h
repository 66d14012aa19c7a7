// What Tab offers. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/debug/context.h"

namespace gpuemu::cli {

/// The words that may stand in place of the last one of `line`, which is typed up to the cursor.
std::vector<std::string> completions(const DebugContext& context, const std::string& line);
/// What is typed of the last word; "" behind a space.
std::string last_word(const std::string& line);
/// What all of them begin with. REQUIRES: not empty.
std::string common_begin(const std::vector<std::string>& words);

}  // namespace gpuemu::cli
