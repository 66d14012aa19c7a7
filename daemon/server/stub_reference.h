// References that nobody has written yet, as `gpuemu init` leaves them.
#pragma once

#include <string>
#include <string_view>

#include "common/config/config.h"

namespace gpuemu {

/// Whether the first statement of `def reference` behind its docstring is `raise
/// NotImplementedError`, `pass` or `...`.
bool is_stub_reference(std::string_view script);

/// Ops whose reference is one are judged as if they had none: it moves to OpConfig::stub_reference.
/// Files are read anew. Returns whether there are any.
bool set_stubs_aside(Config& config);

}  // namespace gpuemu
