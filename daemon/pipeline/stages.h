// What happens to one case, in order. common/protocol/tables/stages.def says what each stage is
// about.
#pragma once

#include <span>

#include "daemon/case/stage.h"

namespace gpuemu {

/// In the order of StageKind.
std::span<const Stage> stages();

}  // namespace gpuemu
