// The programs of an exported case, embedded by the build.
#pragma once

#include <string_view>

namespace gpuemu::cli {

std::string_view export_cpp_program();
std::string_view export_python_program();

}  // namespace gpuemu::cli
