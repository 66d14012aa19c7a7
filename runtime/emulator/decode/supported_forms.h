// Lists the instructions of a module that the emulator executes, by decoding them.
#pragma once

#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

struct FunctionSupport {
  const ptx::Function* function = nullptr;
  std::vector<bool> executed;  ///< Per instruction of the body.
};

/// One item per function with a body. The answer is the decoder's own, so it is what a launch
/// would meet. `module` must outlive the result.
std::vector<FunctionSupport> supported_forms(const ptx::Module& module);

}  // namespace gpuemu::emulator
