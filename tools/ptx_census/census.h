// Counts the instructions of PTX texts by their spelling, and checks with the decoder which the
// emulator executes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::census {

struct Place {
  std::string file;
  uint32_t line = 0;  ///< In the PTX text, counted from 1.
  uint32_t column = 0;
  std::string instruction;  ///< With its operands.
};

/// One opcode with its modifiers, in the order of the text.
struct Opcode {
  std::string family;
  uint64_t count = 0;
  uint64_t missing = 0;  ///< How many of them the emulator cannot execute.
  uint64_t files = 0;
  Place first_missing;  ///< Empty if `missing` is 0.
};

struct Census {
  std::map<std::string, Opcode> opcodes;  ///< By spelling.
  std::vector<std::string> refused;   ///< "name:line:column: what", for texts that do not parse.
  std::vector<std::string> warnings;  ///< "name: line 1: ..."
  uint64_t files = 0;
  uint64_t instructions = 0;

  uint64_t families() const;
  uint64_t missing() const;  ///< Opcodes, not instructions.
  bool complete() const { return refused.empty() && missing() == 0; }
};

/// Adds one text. `name` identifies it in places.
void add_text(Census& census, std::string_view text, const std::string& name);

/// Returns the given files, and all files in the given folders that end in .ptx, in order, at any
/// depth. NotFound if a path does not exist or no file is found.
Result<std::vector<std::filesystem::path>> find_texts(
    const std::vector<std::filesystem::path>& paths);

}  // namespace gpuemu::census
