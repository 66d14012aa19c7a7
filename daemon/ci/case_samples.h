// Private to this folder: the sample of an op's cases that charts show.
#pragma once

#include "daemon/case/case_report.h"

namespace gpuemu {

/// Adds the errors of a case that has comparable values, as long as the op has fewer than 512.
void add_sample(const CaseReport& outcome, CiOp& op);

}  // namespace gpuemu
