// Parses variable declarations with their initialisers, at module level, in functions and in
// parameter lists.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "runtime/ptx/cursor.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// The part of a declaration before the names: ".align 4 .v2 .f32".
struct Declaration {
  Space space = Space::Global;
  Type type = Type::None;
  uint32_t align = 0;   ///< 0: the alignment of the type.
  uint32_t vector = 1;  ///< .v2 .v4 .v8
  bool is_extern = false;
  bool is_managed = false;  ///< .attribute(.managed)
  bool ptr = false;
};

/// Returns the state space that a directive such as ".global" names.
std::optional<Space> space_from_directive(std::string_view directive);

/// Parses from after the state space up to the first name.
Result<Declaration> parse_declaration(Cursor& in, Space space);

/// Parses a name with its dimensions, without initialiser. A name with angle brackets declares
/// several. `budget`: variables that the module may still declare.
Result<std::vector<Variable>> parse_declarator(Cursor& in, const Declaration& declaration,
                                               uint64_t& budget);

/// Parses "= value" if it is there. `budget`: bytes of initialisers that the module may still have.
Status parse_initialiser(Cursor& in, Variable& variable, uint64_t& budget);

}  // namespace gpuemu::ptx
