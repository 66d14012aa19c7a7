// Which instructions of a module the emulator executes: the decoder asked, nothing run.
#pragma once

#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

struct SurveyedFunction {
  const ptx::Function* function = nullptr;
  std::vector<bool> executed;  ///< Per instruction of the body.
};

/// One item per function with a body. The answer is the decoder's own, so it is what a launch
/// would meet. `module` must outlive the result.
std::vector<SurveyedFunction> survey(const ptx::Module& module);

}  // namespace gpuemu::emulator
