// The stage Record: what reproduces the case.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Writes into the report what reproduces the case, its time and its verdict.
Result<Next> record_case(CaseWork& work);

}  // namespace gpuemu
