// Checks of the values of options.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpuemu::cli {

/// Says what is wrong with a value, "" where nothing is; may rewrite it.
using Check = std::function<std::string(std::string& value)>;

/// Refuses what is not a whole number from `lowest` to `highest`, negative ones among them.
Check whole_number(uint64_t lowest, uint64_t highest);
/// Refuses what is not a number from `lowest` to `highest`.
Check number(double lowest, double highest);
/// Refuses "": what a shell makes of a variable that is not set.
Check not_empty();
/// Refuses what is not one of `words` and names the nearest.
Check one_of(const std::vector<std::string>& words);

}  // namespace gpuemu::cli
