// Splits an instruction of a PTX text into its parts, so that one can be changed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu {

struct Statement {
  size_t begin = 0, end = 0;          ///< Range in the text; `end` is after the ';'.
  std::string guard;                  ///< "@!%p3", or "".
  std::string opcode;                 ///< "ld.global.f32"
  std::vector<std::string> operands;  ///< "{%f1, %f2}", "[%rd1+4]", ...

  std::string text() const;  ///< Includes the ';'.
};

/// Returns the offsets of the starts of lines.
std::vector<size_t> line_starts(std::string_view text);

/// Returns nothing if the text there does not match the instruction; it is then not mutated.
std::optional<Statement> statement_at(std::string_view text, const std::vector<size_t>& lines,
                                      const ptx::Instruction& instruction);

}  // namespace gpuemu
