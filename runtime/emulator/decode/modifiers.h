// A table of the modifiers of hand-decoded instructions. It ensures that no decoder overlooks a
// modifier that changes the meaning.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// Variants of instructions whose allowed modifiers depend on more than the opcode.
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

/// Returns whether the instruction is min or max with three operands.
bool is_of_three(const ptx::Instruction& instruction);

/// Returns false for a form of a listed instruction that is not in the table. Instructions that are
/// not listed give true: their decoders check every modifier themselves.
bool is_known_form(const ptx::Instruction& instruction);

}  // namespace gpuemu::emulator
