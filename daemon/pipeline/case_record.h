// The stage Record: stores what is needed to reproduce the case.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Stores in the report what is needed to reproduce the case, its time and its verdict.
Result<Next> record_case(CaseWork& work);

}  // namespace gpuemu
