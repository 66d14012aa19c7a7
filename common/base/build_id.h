// Reads the build id of a program, which the linker computes from its content.
#pragma once

#include <filesystem>
#include <string>

namespace gpuemu {

/// Returns the GNU build id of a 64-bit ELF file in lower-case hexadecimal; "" if the file cannot
/// be read or has none. Format: System V ABI notes with name "GNU" and type 3.
std::string build_id_of(const std::filesystem::path& program);

}  // namespace gpuemu
