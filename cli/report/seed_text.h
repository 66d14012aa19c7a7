// Adds seeds as text. They have 64 bits, and JSON readers that store numbers as doubles, as in
// JavaScript, lose the last of these.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::cli {

/// Adds a member "seed_text" after every whole number called "seed", and "base_seed_text" after
/// "base_seed". REQUIRES: `json` is valid JSON.
std::string with_seed_texts(std::string_view json);

}  // namespace gpuemu::cli
