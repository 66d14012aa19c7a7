// Sentences about faults: where, what was expected, how many, and the pattern they form.
#pragma once

#include <string>

#include "daemon/validate/scan.h"

namespace gpuemu {

/// "17 [0, 17]"
std::string place_of(size_t index, const Shape& shape);

/// "3 of 64 elements; only the last column" of all faults of one kind.
std::string pattern_of(const Judge& judge, FindingKind kind, uint64_t fault_count);

/// The whole message of the first fault of its kind.
std::string describe_fault(const Judge& judge, Fault fault, size_t index, uint64_t fault_count);

}  // namespace gpuemu
