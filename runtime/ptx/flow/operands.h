// Questions about operands that several parts of the analysis ask.
#pragma once

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Visits every register that the operand names, including those in vectors and addresses.
template <typename Visit>
void each_register(const Operand& operand, const Visit& visit) {
  if (operand.kind == Operand::Kind::Register) visit(operand.reg);
  for (const Operand& element : operand.elements) each_register(element, visit);
}

/// Returns whether the second operand is a place in memory, as of an ld or an atom.
inline bool has_place(const Instruction& in) {
  return in.operands.size() >= 2 && in.operands[1].elements.size() == 1;
}

}  // namespace gpuemu::ptx
