// A stage of a case: what runs it, and what becomes of the stages behind it.
#pragma once

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

}  // namespace gpuemu
