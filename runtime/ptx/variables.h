// Module variables by the name that their source has.
#pragma once

#include <string>

#include "common/base/result.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// The .global or .const variable that the source calls "weights" or "model::weights": by its PTX
/// name, else by that name within a mangled one ("_ZL7weights", "_ZN5model7weightsE"). NotFound
/// lists what there is; InvalidArgument when several have the name. Points into `module`.
Result<const Variable*> find_variable(const Module& module, const std::string& name);

}  // namespace gpuemu::ptx
