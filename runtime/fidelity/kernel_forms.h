// Lists the forms of the instructions in a kernel's code.
#pragma once

#include <set>
#include <string>

#include "runtime/ptx/module.h"

namespace gpuemu {

/// Returns the forms of an entry and of the functions that it may call, spelled as in the PTX;
/// empty if the module has no such entry.
std::set<std::string> forms_of(const ptx::Module& module, const std::string& entry);

}  // namespace gpuemu
