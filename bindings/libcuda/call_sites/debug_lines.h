// Finds the source line of an address in a DWARF line table, version 2 to 5. The table is
// untrusted: a damaged one yields no line.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gpuemu::libcuda {

/// The sections .debug_line, .debug_line_str and .debug_str of an ELF file; a missing one is empty.
struct LineSections {
  std::span<const unsigned char> lines, line_strings, strings;
};

/// A source line; `file` is "" when it is unknown.
struct LinePlace {
  std::string file;
  uint32_t line = 0;
};
/// Returns the line that covers `address`, an address of the ELF file. Code from the header
/// `passed_over`, a file name, counts as code of the line before it, where it is inlined. `file` is
/// "" if no line is found. Thread-safe.
LinePlace line_at(const LineSections& sections, uint64_t address, const std::string& passed_over);

}  // namespace gpuemu::libcuda
