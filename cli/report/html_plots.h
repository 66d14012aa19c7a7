// Private to this folder: plots of the size of errors and where they occur, in inline SVG.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/ci.gen.h"

namespace gpuemu::cli {

/// Draws a bar per decade of the error, with the bound of the worst element; "" without elements.
std::string error_histogram(const ErrorMap& map);
/// Draws a dot per case: its error as a share of the permitted error, over the number of elements
/// of its outputs. Returns "" for fewer than two cases.
std::string errors_by_size(const std::vector<CaseSample>& samples);
/// Draws the same by value strategy, one row each.
std::string errors_by_strategy(const std::vector<CaseSample>& samples);

}  // namespace gpuemu::cli
