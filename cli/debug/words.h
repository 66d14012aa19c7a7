// Splits input of `gpuemu debug` into commands and words. No side effects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/launch_shape.h"

namespace gpuemu::cli {

using Words = std::vector<std::string>;

/// Splits commands at ';' and at the end of the line, and words at spaces. Text in brackets or
/// double quotes stays together; the quotes are removed. '#' at the beginning of a word begins a
/// comment. InvalidArgument names the unclosed bracket or quote.
Result<std::vector<Words>> split_commands(std::string_view line);

/// Parses digits, or hexadecimal digits after "0x"; errors mention `what`.
Result<uint64_t> parse_count(const std::string& word, std::string_view what);
/// Parses "3", "3,1" or "3,1,0"; omitted components are 0.
Result<Dim3> parse_index3(const std::string& word, std::string_view what);

/// Returns the `count` candidates most similar to the word, the best first.
std::vector<std::string> nearest_few(std::string_view word, std::vector<std::string> candidates,
                                     size_t count);

}  // namespace gpuemu::cli
