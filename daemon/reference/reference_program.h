// The text of reference_process.py, embedded by the build.
#pragma once

#include <string_view>

namespace gpuemu {

std::string_view reference_program();

}  // namespace gpuemu
