// The nearest valid spelling of a misspelt word, for "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu {

/// Insertions, deletions, substitutions and neighbour swaps between two words, ASCII case ignored.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word` when it is near enough to be meant; "" otherwise.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean 'rows'?", or "" when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// "unknown dtype 'flaot32'; did you mean 'float32'?", or what is expected when nothing is near.
std::string unknown_dtype(std::string_view name);

}  // namespace gpuemu
