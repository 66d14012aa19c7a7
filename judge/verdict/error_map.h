// Where the errors of an output are, small enough for a report.
#pragma once

#include "common/protocol/ci.h"

namespace gpuemu {

struct Comparison;

/// |output - reference| over a grid of at most 48 x 48 cells, each the largest of its elements, and
/// how many elements there are in each decade. Equal infinities and two NaNs are no error; any
/// other pair with one of them is an infinite one. Without cells when the shapes differ. Names of
/// the op and its seed are the caller's.
ErrorMap map_errors(const Comparison& comparison);

}  // namespace gpuemu
