// Finds the registers of a function that may hold floats between instructions.
#pragma once

#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

struct FloatRegisters {
  std::vector<bool> holds;  ///< Per register: made by something that may give floats, and used by
                            ///< something that may take them.
  bool pairs = false;       ///< Some registers may hold two floats.
};
FloatRegisters find_float_registers(const ptx::Function& function);

/// Returns whether it is an integer instruction whose result may be an operand with another sign or
/// exponent.
bool is_bitwise(const ptx::Instruction& in);
/// Returns whether it is ldmatrix or stmatrix, which move 16-bit elements that may or may not be
/// floats.
bool moves_rows(const ptx::Instruction& in);

/// Calls `visit` with every register that the instruction writes.
template <typename Visit>
void each_result(const ptx::Instruction& in, const Visit& visit) {
  using Kind = ptx::Operand::Kind;
  const auto writes = [&](const auto& self, const ptx::Operand& to) -> void {
    if (to.kind == Kind::Register) visit(to);
    if (to.kind != Kind::Vector && to.kind != Kind::PredPair) return;
    for (const ptx::Operand& part : to.elements) self(self, part);
  };
  // Operands that are neither register nor vector, such as addresses and labels, are not results.
  if (in.has_result() && !in.operands.empty()) writes(writes, in.operands[0]);
}

}  // namespace gpuemu::emulator
