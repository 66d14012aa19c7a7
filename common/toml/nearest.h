// Finds the nearest valid spelling of a misspelled word, for "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu {

/// Counts insertions, deletions, substitutions and swaps of neighbours between two words, ignoring
/// ASCII case.
size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate nearest to `word` if it is near enough; "" otherwise.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Returns "; did you mean 'rows'?", or "" if nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// Returns "known are a, b", or "there are none".
std::string known_or_none(const std::vector<std::string>& names);

/// Returns "unknown dtype 'flaot32'; did you mean 'float32'?", or what is expected if nothing is
/// near.
std::string unknown_dtype(std::string_view name);

}  // namespace gpuemu
