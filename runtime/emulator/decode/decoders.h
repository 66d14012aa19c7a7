// Decoders of the instructions without a row in the handlers' table, one function per opcode.
#pragma once

#include "runtime/emulator/decode/decode.h"

namespace gpuemu::emulator {

/// Emits the steps of the instruction. Returns false for an unsupported form.
using DecodeFunction = bool (*)(Decoder&, const ptx::Instruction&, const Form&);

/// Returns the whole address in one 64-bit register.
uint32_t whole_address(Decoder& d, const ptx::Operand& operand);
/// Returns the reduction that the modifiers name; nothing if there is none.
std::optional<AtomicKind> reduction_in(const Form& form);

/// Returns whether the instruction has a modifier that only its text tells from others.
bool has_word(const Form& form, std::string_view word);

/// Returns null for an instruction that the handlers or Decoder itself support in every form, or
/// that is refused.
const DecodeFunction* decoder_of(ptx::Opcode opcode);

// NOLINTBEGIN(readability-redundant-declaration): one function decodes several instructions.
#define PTX_DECODER(opcode, function) \
  bool function(Decoder& d, const ptx::Instruction& in, const Form& form);
#include "runtime/emulator/decode/modifiers.def"
// NOLINTEND(readability-redundant-declaration)

// Called by the decoders of st, red and cp for forms that other files decode.
bool decode_bulk_store(Decoder& d, const ptx::Instruction& in);
bool decode_async_store(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_tensor_copy(Decoder& d, const ptx::Instruction& in, const Form& form);

}  // namespace gpuemu::emulator
