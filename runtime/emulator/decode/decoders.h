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

bool decode_active_mask(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_address_space(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_async_store(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_atomic(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_barrier(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_branch(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_call(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_cache_policy(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_carry(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_copies(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_elect(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_exit(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_fence(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_load(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_match(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_matrix_load(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_mbarrier(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_mma(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_nothing(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_rank(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_reduce(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_return(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_shuffle(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_stack(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_store(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_store_matrix(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_surface(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_texture(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_transpose(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_tensor_map(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_tensor_copy(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_trap(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_vote(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_wgmma(Decoder& d, const ptx::Instruction& in, const Form& form);
bool decode_wmma(Decoder& d, const ptx::Instruction& in, const Form& form);

}  // namespace gpuemu::emulator
