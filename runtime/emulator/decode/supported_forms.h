// Lists the instructions of a module that the emulator supports, by decoding them.
#pragma once

#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

struct FunctionSupport {
  const ptx::Function* function = nullptr;
  std::vector<bool> executed;  ///< Per instruction of the body.
};

/// Returns one item per function with a body. Uses the decoder itself, so the result is what a
/// launch would do. `module` must outlive the result.
std::vector<FunctionSupport> supported_forms(const ptx::Module& module);

}  // namespace gpuemu::emulator
