// The text of host.py, embedded by the build.
#pragma once

#include <string_view>

namespace gpuemu {

std::string_view reference_host_script();

}  // namespace gpuemu
