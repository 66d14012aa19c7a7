// Decides whether integers that differ from their reference are choices between values that
// rounding puts in either order, such as the index of the nearest point.
#pragma once

#include "common/base/result.h"

namespace gpuemu {

struct CaseWork;
struct Slot;

/// Returns whether rounding decided each of the integers: at least as many comparisons as there are
/// come out otherwise without it, and for inputs that differ in the last place the kernel also
/// gives what the reference gives. Equal values do not count: which of them is taken is a rule, not
/// rounding.
Result<bool> are_choices_of_rounding(const CaseWork& work, Slot& slot);

}  // namespace gpuemu
