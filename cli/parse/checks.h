// Checks for the values of options.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpuemu::cli {

/// Returns the error in a value, "" if there is none; may rewrite the value.
using Check = std::function<std::string(std::string& value)>;

/// Rejects values other than whole numbers from `lowest` to `highest`, including negative ones.
Check whole_number(uint64_t lowest, uint64_t highest);
/// Rejects values other than numbers from `lowest` to `highest`.
Check number(double lowest, double highest);
/// Rejects "", which results from an unset shell variable.
Check not_empty();
/// Rejects values that are not in `words`, and suggests the most similar one.
Check one_of(const std::vector<std::string>& words);

}  // namespace gpuemu::cli
