// Recognises outputs of 16 bits that were cut off instead of rounded to nearest. Each element is
// within one unit in the last place, so no bound sees it.
#pragma once

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// Returns whether the elements are their references with the lower bits cut off: nearly all of
/// many different ones whose reference is clearly nearer to the neighbour away from zero have the
/// other one, and no others are off. False for outputs that are not of 16 bits.
bool cuts_bits_off(const Comparison& comparison);

}  // namespace gpuemu
