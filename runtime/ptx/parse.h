// Parses PTX text to a verified module.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Fails with Compile, as "name:line:column: what; expected ...". Unknown instructions are accepted
/// here and refused when executed. Hostile text cannot cause a crash or deep recursion.
Result<Module> parse(std::string_view text, const std::string& name);

}  // namespace gpuemu::ptx
