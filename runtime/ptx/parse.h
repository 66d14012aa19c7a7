// PTX text to a verified module.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Compile error "name:line:column: what; expected ...". Unknown instructions are no error here;
/// whoever executes them refuses them. Nothing in `text` can make it crash or recurse deeply.
Result<Module> parse(std::string_view text, const std::string& name);

}  // namespace gpuemu::ptx
