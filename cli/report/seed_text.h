// Seeds have 64 bits; a reader of JSON that keeps numbers as doubles, as JavaScript does, loses the
// last of them.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::cli {

/// Adds a member "seed_text" behind every whole number called "seed", and
/// "base_seed_text" behind "base_seed". REQUIRES: `json` is JSON.
std::string with_seed_texts(std::string_view json);

}  // namespace gpuemu::cli
