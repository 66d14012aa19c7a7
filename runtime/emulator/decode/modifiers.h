// The modifiers that instructions take which are decoded by hand: a table, so that no decoder can
// overlook one that changes the meaning.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// Instructions whose forms depend on more than their modifiers.
enum class FormVariant : uint8_t {
  Plain,
  Carry,    ///< add, sub and mad with the modifier .cc.
  OfThree,  ///< min and max with three operands.
};

struct FormRow {
  ptx::Opcode opcode;
  FormVariant variant;
  std::string_view modifiers;
};

/// In the order of modifiers.def.
std::span<const FormRow> form_rows();

/// min or max with three operands.
bool is_of_three(const ptx::Instruction& instruction);

/// False for a form of one of these instructions that is not in the table. Those that are not named
/// there are true: their decoders check every modifier themselves.
bool is_known_form(const ptx::Instruction& instruction);

}  // namespace gpuemu::emulator
