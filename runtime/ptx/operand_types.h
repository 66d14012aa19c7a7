// Determines the types of an instruction's operands, as far as the instruction defines them.
#pragma once

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

struct OperandType {
  Type type = Type::None;     ///< None: unknown, any register is allowed.
  bool may_be_wider = false;  ///< ld, st and cvt accept registers wider than the type.
};

/// Returns the type of operand `index`; with `second`, of the second register of p|q.
OperandType operand_type(const Instruction& instruction, size_t index, bool second);

}  // namespace gpuemu::ptx
