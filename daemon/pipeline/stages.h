// What happens to one case, in order. common/protocol/tables/stages.def says what each stage is
// about.
#pragma once

#include <span>

#include "common/base/result.h"
#include "common/protocol/stages.h"

namespace gpuemu {

struct CaseWork;

/// What becomes of the stages that follow.
enum class Next : uint8_t {
  Continue,
  SkipValues,  ///< The outputs mean nothing: stages that need their values are left out.
};

/// Whether a stage makes sense where the outputs mean nothing.
enum class Needs : uint8_t { Nothing, Values };

struct Stage {
  StageKind kind;
  Needs needs;
  Result<Next> (*run)(CaseWork&);
};

/// In the order of StageKind.
std::span<const Stage> stages();

}  // namespace gpuemu
