// Constants of classes and functions of the device: what template arguments and sizes of a launch
// name.
#pragma once

#include <string_view>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

/// Adds static constants of classes to `found.constants`: "Traits::kTile", and for a template
/// "x128::size" by each alias of one of its instances.
void scan_member_constants(std::string_view text, Definitions& found);

/// Adds functions of the device and the types of functions.
void scan_functions(std::string_view text, Definitions& found);

}  // namespace gpuemu::cli
