// The special registers of PTX by name.
#pragma once

#include <string_view>

namespace gpuemu::ptx {

/// "%tid.x", "%laneid", "%envreg2" ...
bool is_special_register(std::string_view name);

}  // namespace gpuemu::ptx
