// One instruction as the text of a PTX file spells it, taken apart so that a part can be changed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu {

struct Statement {
  size_t begin = 0, end = 0;          ///< In the text; `end` is behind the ';'.
  std::string guard;                  ///< "@!%p3", or "".
  std::string opcode;                 ///< "ld.global.f32"
  std::vector<std::string> operands;  ///< "{%f1, %f2}", "[%rd1+4]", ...

  std::string text() const;  ///< With the ';'.
};

/// Offsets of the beginnings of lines.
std::vector<size_t> line_starts(std::string_view text);

/// Nothing when the text there is not that of the instruction: then it is not changed.
std::optional<Statement> statement_at(std::string_view text, const std::vector<size_t>& lines,
                                      const ptx::Instruction& instruction);

}  // namespace gpuemu
