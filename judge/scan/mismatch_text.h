// Describes faults: position, expected value, number, and pattern.
#pragma once

#include <string>

#include "judge/scan/scan.h"

namespace gpuemu {

/// Returns for example "17 [0, 17]".
std::string place_of(size_t index, const Shape& shape);

/// Returns for example "element 17 [0, 17]: expected 0.5, got 0, |diff| 0.5 > bound 1e-05 (3 of 54
/// elements; only the last column)". `fault` is the kind of the first fault. Requires
/// faults.count() > 0.
std::string describe_fault(const Judge& judge, Fault fault, const MismatchPattern& faults);

}  // namespace gpuemu
