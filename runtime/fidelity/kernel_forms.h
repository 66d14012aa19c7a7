// Lists the forms of the instructions that the code of a kernel has.
#pragma once

#include <set>
#include <string>

#include "runtime/ptx/module.h"

namespace gpuemu {

/// The forms of an entry and of the functions that it may call, written as in the PTX; empty when
/// the module has no such entry.
std::set<std::string> forms_of(const ptx::Module& module, const std::string& entry);

}  // namespace gpuemu
