// Helpers for the decoders of matrix instructions.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/emulator/decode/decode.h"

namespace gpuemu::emulator {

struct MatrixShape {
  uint32_t m = 0, n = 0, k = 0;
};
/// Parses a modifier such as "m16n8k16".
std::optional<MatrixShape> shape_of(const Form& form);

inline bool is_fp8(ptx::Type type) { return type == ptx::Type::E4M3 || type == ptx::Type::E5M2; }

/// Fills in the registers. Returns false unless they hold every element equally often.
bool take_registers(Decoder& d, TensorOperand& operand, const ptx::Operand& from, bool written);

}  // namespace gpuemu::emulator
