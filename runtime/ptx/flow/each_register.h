// Visits every register that an operand names, including those in vectors and addresses.
#pragma once

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

template <typename Visit>
void each_register(const Operand& operand, const Visit& visit) {
  if (operand.kind == Operand::Kind::Register) visit(operand.reg);
  for (const Operand& element : operand.elements) each_register(element, visit);
}

}  // namespace gpuemu::ptx
