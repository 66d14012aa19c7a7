// The names of the special registers of PTX.
#pragma once

#include <string_view>

namespace gpuemu::ptx {

/// Returns whether the name is a special register, such as "%tid.x", "%laneid" or "%envreg2".
bool is_special_register(std::string_view name);

}  // namespace gpuemu::ptx
