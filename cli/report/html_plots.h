// Private to this folder: how large errors are and where they arise, in SVG that stands inside a
// page.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/ci.h"

namespace gpuemu::cli {

/// A bar per decade of the error, with the bound of the worst element; "" without elements.
std::string error_histogram(const ErrorMap& map);
/// A dot per case: its error as a share of the allowed error, over the elements of its outputs.
/// "" with fewer than two cases.
std::string errors_by_size(const std::vector<CaseSample>& samples);
/// The same by value strategy, one row each.
std::string errors_by_strategy(const std::vector<CaseSample>& samples);

}  // namespace gpuemu::cli
