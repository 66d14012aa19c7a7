// The operands of matrix instructions.
#pragma once

#include <cstdint>
#include <optional>
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

/// mma.sp: A holds half of the elements of a row. The metadata, two bits each, say which.
struct Sparsity {
  uint32_t metadata = 0;  ///< Offset of the register.
  uint32_t selector = 0;  ///< Which lanes of four hold the metadata of their two rows.
  bool ordered = false;   ///< .ordered_metadata: the positions in a chunk have to ascend.
};

/// D = A * B + C, or the fragment `d` of a wmma load or store.
struct TensorStep {
  TensorOperand a, b, c, d;
  TensorKind kind = TensorKind::Mma;
  bool saturate = false;
  bool negate = false;    ///< Negates A * B.
  bool bits_and = false;  ///< One-bit elements: counts a & b, otherwise a ^ b.
  bool by_column = false, store = false;
  std::optional<Sparsity> sparsity;  ///< A has half as many columns as B has rows.
};

}  // namespace gpuemu::emulator
