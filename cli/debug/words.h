// What was typed to `gpuemu debug`, as commands and words. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/launch_shape.h"

namespace gpuemu::cli {

using Words = std::vector<std::string>;

/// Commands end at ';' and at the line's end, words at spaces. What stands in brackets or in double
/// quotes stays together; the quotes go. '#' at the begin of a word makes the rest a comment.
/// InvalidArgument names the bracket or quote that is not closed.
Result<std::vector<Words>> split_commands(std::string_view line);

/// Digits alone, "0x" in front of hexadecimal ones; `what` is named in the error.
Result<uint64_t> parse_count(const std::string& word, std::string_view what);
/// "3", "3,1" or "3,1,0"; what is left out is 0.
Result<Dim3> parse_index3(const std::string& word, std::string_view what);

/// The `count` candidates that are nearest to the word, the nearest first.
std::vector<std::string> nearest_few(std::string_view word, std::vector<std::string> candidates,
                                     size_t count);

}  // namespace gpuemu::cli
