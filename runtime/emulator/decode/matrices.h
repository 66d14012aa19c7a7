// Helpers for the decoders of matrix instructions.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/emulator/decode/decode.h"

namespace gpuemu::emulator {

struct Shape {
  uint32_t m = 0, n = 0, k = 0;
};
/// Parses a modifier such as "m16n8k16".
std::optional<Shape> shape_of(const Form& form);

/// Fills in the registers. Returns false unless they hold every element equally often.
bool take_registers(Decoder& d, TensorOperand& operand, const ptx::Operand& from, bool written);

}  // namespace gpuemu::emulator
