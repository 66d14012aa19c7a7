// The source line of an address, from the line table of DWARF 2 to 5. The table is untrusted.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gpuemu::libcuda {

/// What of an ELF file tells lines. Any of them may be empty.
struct LineSections {
  std::span<const unsigned char> lines, line_strings, strings;
};

/// `file` is "" where the table says nothing of the address.
struct LinePlace {
  std::string file;
  uint32_t line = 0;
};
LinePlace line_at(const LineSections& sections, uint64_t address);

}  // namespace gpuemu::libcuda
