// The stage Extras: collects what was requested besides the verdict, while outputs and reference
// are in memory.
#pragma once

#include "daemon/case/stage.h"

namespace gpuemu {

/// Collects every extra of the request. A new one is an enumerator of Extra and a row in extras.cc.
Result<Next> collect_extras(CaseWork& work);

}  // namespace gpuemu
