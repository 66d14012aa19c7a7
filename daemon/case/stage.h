// A stage of a case: the function that runs it, and its effect on the stages after it.
#pragma once

#include "common/base/result.h"
#include "common/protocol/stages.h"

namespace gpuemu {

struct CaseWork;

/// What happens to the stages that follow.
enum class Next : uint8_t {
  Continue,
  SkipValues,  ///< The outputs are meaningless: stages that need values are skipped.
};

/// Whether a stage makes sense if the outputs are meaningless.
enum class Needs : uint8_t { Nothing, Values };

struct Stage {
  StageKind kind;
  Needs needs;
  Result<Next> (*run)(CaseWork&);
};

}  // namespace gpuemu
