// __constant__ variables that only the host can set.
#pragma once

#include <set>
#include <string>

#include "runtime/ptx/module.h"

namespace gpuemu {

/// PTX names of the .const variables that `source` (CUDA C++) declares without an initialiser. PTX
/// does not tell "= 0" from none, so what the text does not show is taken to have one: variables of
/// headers, of macros, of classes with constructors.
std::set<std::string> unset_constants(const ptx::Module& module, const std::string& source);

}  // namespace gpuemu
