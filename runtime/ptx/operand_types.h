// Types of an instruction's operands, where the instruction alone says them.
#pragma once

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

struct OperandType {
  Type type = Type::None;     ///< None: not known here, any register goes.
  bool may_be_wider = false;  ///< ld, st and cvt take registers that are wider than the type.
};

/// Type of operand `index`; of the second register of p|q when `second`.
OperandType operand_type(const Instruction& instruction, size_t index, bool second);

}  // namespace gpuemu::ptx
