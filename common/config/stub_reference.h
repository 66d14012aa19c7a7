// Recognises references that nobody has written yet, as `gpuemu init` creates them.
#pragma once

#include <string>
#include <string_view>

#include "common/config/config.h"

namespace gpuemu {

/// Returns whether the first statement of `def FUNCTION` after its docstring is `raise
/// NotImplementedError`. A function that returns nothing is an ordinary mistake.
bool is_stub_reference(std::string_view script, const std::string& function = "reference");

/// Treats ops with such a reference as ops without one: moves it to OpConfig::stub_reference. Reads
/// the files again. Returns whether there are any.
bool set_stubs_aside(Config& config);

}  // namespace gpuemu
