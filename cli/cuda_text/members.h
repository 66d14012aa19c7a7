// Constants of classes, and device functions, that template arguments and launch sizes refer to.
#pragma once

#include <string_view>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

/// Adds static constants of classes to `found.constants`: "Traits::kTile", and for a template
/// "x128::size" for each alias of one of its instances.
void scan_member_constants(std::string_view text, Definitions& found);

/// Adds device functions and function types.
void scan_functions(std::string_view text, Definitions& found);

}  // namespace gpuemu::cli
