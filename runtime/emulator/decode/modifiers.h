// Which modifiers the families take that are decoded by hand: a table, so that no decoder can
// overlook one that changes the meaning.
#pragma once

#include <span>
#include <string_view>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

struct FormRow {
  std::string_view family;  ///< "ld"; "add.cc" for the members of the carry chain, "max.three"
                            ///< for the one with three operands.
  std::string_view modifiers;
};

/// In the order of modifiers.def.
std::span<const FormRow> form_rows();

/// min or max with three operands.
bool is_of_three(const ptx::Instruction& instruction);

/// False for a form of one of these families that is not in the table. Families that are not named
/// there are true: their decoders look at every modifier themselves.
bool is_known_form(const ptx::Instruction& instruction);

}  // namespace gpuemu::emulator
