// The operands of matrix instructions.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

enum class TensorRole : uint8_t { A, B, C };

/// One matrix, held in the registers of a warp.
struct TensorOperand {
  TensorRole role = TensorRole::C;
  ptx::Type type = ptx::Type::None;  ///< Element type.
  uint32_t rows = 0, columns = 0;
  bool opaque = false;      ///< A wmma fragment, whose element layout PTX does not define.
  bool of_quads = false;    ///< mma.m8n8k4 with f16: four products, each computed by eight lanes.
  bool transposed = false;  ///< In shared memory: M or N, not K, is contiguous.
  std::vector<uint32_t> registers;  ///< Offsets of the registers in the frame.
};

/// The kind of instruction, which decides the chip unit that computes it.
enum class TensorKind : uint8_t { Mma, Wmma, Wgmma };

/// D = A * B + C, or the fragment `d` of a wmma load or store.
struct TensorStep {
  TensorOperand a, b, c, d;
  TensorKind kind = TensorKind::Mma;
  bool saturate = false;
  bool negate = false;    ///< Negates A * B.
  bool bits_and = false;  ///< One-bit elements: counts a & b, otherwise a ^ b.
  bool by_column = false, store = false;
};

}  // namespace gpuemu::emulator
