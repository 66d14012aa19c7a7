// References that nobody has written yet, as `gpuemu init` leaves them.
#pragma once

#include <string>
#include <string_view>

#include "common/config/config.h"

namespace gpuemu {

/// Whether the first statement of `def FUNCTION` behind its docstring is `raise
/// NotImplementedError`. One that returns nothing is a mistake like any other.
bool is_stub_reference(std::string_view script, const std::string& function = "reference");

/// Ops whose reference is one are judged as if they had none: it moves to OpConfig::stub_reference.
/// Files are read anew. Returns whether there are any.
bool set_stubs_aside(Config& config);

}  // namespace gpuemu
