// What people see of a compiler's output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::compile {

/// The lines that report an error, the first twenty, as printed; the whole text when none does.
std::string error_lines(std::string_view log);

/// Such lines without those about a text of ours, in which line `first_line` + i instantiates the
/// i-th of `names`: nobody else has it. Where all are about it, the first, as one about that name.
std::string without_ours(const std::string& lines, const std::string& path, size_t first_line,
                         const std::vector<std::string>& names);

}  // namespace gpuemu::compile
