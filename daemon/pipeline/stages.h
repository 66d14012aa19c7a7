// The stages of a case, in order. common/protocol/tables/stages.def describes each of them.
#pragma once

#include <span>

#include "daemon/case/stage.h"

namespace gpuemu {

/// In the order of StageKind.
std::span<const Stage> stages();

}  // namespace gpuemu
