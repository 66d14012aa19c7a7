// Reads the identifier of a program's build, which the linker computes from its content.
#pragma once

#include <filesystem>
#include <string>

namespace gpuemu {

/// The GNU build id of a 64-bit ELF file as lower-case hexadecimal digits; "" when the file cannot
/// be read or has none. Format: the System V ABI's notes, with name "GNU" and type 3.
std::string build_id_of(const std::filesystem::path& program);

}  // namespace gpuemu
