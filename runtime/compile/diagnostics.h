// What people see of a compiler's output.
#pragma once

#include <string>
#include <string_view>

namespace gpuemu::compile {

/// The lines that report an error, the first twenty, as printed; the whole text when none does.
std::string error_lines(std::string_view log);

}  // namespace gpuemu::compile
