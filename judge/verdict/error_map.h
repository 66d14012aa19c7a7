// A map of an output's errors, small enough for a report.
#pragma once

#include "common/protocol/ci.gen.h"

namespace gpuemu {

struct Comparison;

/// Computes |output - reference| on a grid of at most 48 x 48 cells, each the maximum over its
/// elements, and the number of elements per decade. Equal infinities and two NaNs count as no
/// error; any other pair with one of them as an infinite error. Has no cells if the shapes differ.
/// The caller fills in the op's name and seed.
ErrorMap map_errors(const Comparison& comparison);

}  // namespace gpuemu
