// Finds __constant__ variables without an initial value, which the host must set.
#pragma once

#include <set>
#include <string>

#include "runtime/ptx/module.h"

namespace gpuemu {

/// Returns the PTX names of the .const variables that `source` (CUDA C++) declares without an
/// initialiser. PTX does not distinguish "= 0" from no initialiser, so variables whose declaration
/// is not in the text count as initialised: those of headers, of macros, of classes with
/// constructors.
std::set<std::string> unset_constants(const ptx::Module& module, const std::string& source);

}  // namespace gpuemu
