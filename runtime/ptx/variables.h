// Finds module variables by the names that they have in the source.
#pragma once

#include <string>

#include "common/base/result.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Finds the .global or .const variable that the source calls "weights" or "model::weights": by its
/// PTX name, else by a mangled name that contains it ("_ZL7weights", "_ZN5model7weightsE").
/// NotFound lists the variables; InvalidArgument if several match. Points into `module`.
Result<const Variable*> find_variable(const Module& module, const std::string& name);

}  // namespace gpuemu::ptx
