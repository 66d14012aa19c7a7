// wgmma.mma_async: four warps multiply a tile of 64 rows, 16 rows each. A warp reads the operands
// in shared memory when it reaches the instruction. This is valid for every correct program,
// because data written for another warp is followed by a barrier.
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/matrices/sparse_product.h"
#include "runtime/emulator/matrices/tile_product.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/steps/counting.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
using ptx::Type;

constexpr uint32_t kChunkBytes = Chunks::kBytes, kGroupWarps = 4, kWarpRows = 16;

/// A decoded matrix descriptor; all members are in bytes.
struct Descriptor {
  uint32_t start = 0, leading = 0, stride = 0, phase = 0;
  uint32_t width = kChunkBytes;  ///< Row length of the swizzle pattern.

  explicit Descriptor(uint64_t bits)
      : start(static_cast<uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(bits >> 32 & 0x3fff) << 4),
        phase(static_cast<uint32_t>(bits >> 49 & 7)) {
    const auto mode = static_cast<uint32_t>(bits >> 62);
    if (mode != 0) width = 256u >> mode;
  }
  /// Returns the address of the chunk whose place without swizzling is `offset` from the start. The
  /// pattern depends on the address, not on the matrix.
  uint32_t address(uint32_t offset) const {
    const uint32_t linear = start + offset, rows = width / kChunkBytes - 1;
    return (linear ^ (((linear >> 7) - phase) & rows) << 4) & 0x3ffff;
  }
};

/// A matrix as rows along M or N and columns along K.
struct Layout {
  uint32_t rows = 0, depth = 0, bits = 16;
  bool by_row = true;  ///< K is contiguous in a chunk; otherwise M or N is.
};

/// Returns the offset of chunk `chunk` of a row; of a column if columns are contiguous.
uint32_t chunk_offset(const Descriptor& from, const Layout& layout, uint32_t line, uint32_t chunk) {
  const uint32_t byte = chunk * kChunkBytes, inner = line % 8 * from.width + byte % from.width;
  const uint32_t across = byte / from.width, along = line / 8;
  // Without swizzling, the two strides are swapped for the transposed form.
  const bool swap = !layout.by_row && from.width == kChunkBytes;
  return inner + along * (swap ? from.leading : from.stride) +
         across * (swap ? from.stride : from.leading);
}

/// Reads at most 32 chunks, with all checks of a load; zeros where the read is invalid.
struct ChunkReader {
  Warp& warp;
  const Step& step;
  uint64_t address[kLanes] = {};
  uint32_t used = 0;
  std::vector<Chunks::Chunk> chunks = {};
  std::optional<PieceCounter> pieces = {};

  void add(uint32_t at) {
    if (pieces) pieces->add(at);
    address[used++] = at;
    if (used == kLanes) flush();
  }
  void flush() {
    if (used == 0) return;
    const uint32_t all = warp.masks.running;
    warp.masks.running = used == kLanes ? kNone : (uint32_t{1} << used) - 1;
    const uint32_t good = resolve_shared(warp, step, address, kChunkBytes, Access::Load);
    if (good != 0 && warp.launch->inputs.checks.race) {
      note_shared(warp, step, address, kChunkBytes, Access::Load, good, 0);
    }
    warp.masks.running = all;
    for (uint32_t lane = 0; lane < used; ++lane) {
      auto& chunk = chunks.emplace_back();
      if ((good >> lane & 1) != 0) {
        std::memcpy(chunk.data(), warp.block->shared.bytes.data() + address[lane], kChunkBytes);
      }
    }
    used = 0;
  }
};

uint32_t element_of(const Chunks::Chunk& chunk, uint32_t index, uint32_t bits) {
  uint32_t value = 0;
  std::memcpy(&value, chunk.data() + size_t{index} * bits / 8, bits / 8);
  return value;
}

/// Reads rows [first, first + rows) of the matrix that the descriptor describes.
Chunks read_shared(Warp& warp, const Step& step, uint64_t descriptor, const Layout& layout,
                   uint32_t first) {
  const Descriptor from(descriptor);
  const uint32_t per_chunk = kChunkBytes * 8 / layout.bits;
  const uint32_t lines = layout.by_row ? layout.rows : layout.depth;
  const uint32_t chunks = (layout.by_row ? layout.depth : layout.rows) / per_chunk;
  const uint32_t line_from = layout.by_row ? first : 0;
  const uint32_t chunk_from = layout.by_row ? 0 : first / per_chunk;
  ChunkReader reader{warp, step};
  reader.chunks.reserve(size_t{lines} * chunks);
  if (warp.block->counters != nullptr) {
    reader.pieces.emplace(warp, step, ptx::Space::Shared, kChunkBytes);
  }
  for (uint32_t line = 0; line < lines; ++line) {
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      reader.add(from.address(chunk_offset(from, layout, line + line_from, chunk + chunk_from)));
    }
  }
  reader.flush();
  return {std::move(reader.chunks), lines, chunks, layout.by_row};
}

Matrix matrix_of(const Chunks& from, const Layout& layout) {
  const uint32_t per_chunk = kChunkBytes * 8 / layout.bits;
  Matrix out(layout.rows, layout.depth);
  for (uint32_t line = 0; line < from.lines; ++line) {
    for (uint32_t at = 0; at < from.per_line * per_chunk; ++at) {
      const uint32_t value =
          element_of(from.all[line * from.per_line + at / per_chunk], at % per_chunk, layout.bits);
      (layout.by_row ? out.at(line, at) : out.at(at, line)) = value;
    }
  }
  return out;
}

Matrix transposed(Matrix& from) {
  const auto rows = static_cast<uint32_t>(from.cells.size() / from.columns);
  Matrix out(from.columns, rows);
  for (uint32_t i = 0; i < rows; ++i) {
    for (uint32_t j = 0; j < from.columns; ++j) out.at(j, i) = from.at(i, j);
  }
  return out;
}
}  // namespace

void multiply_group(Warp& warp, const Step& step, const FragmentOperands& product) {
  if (!whole_warp(warp, step)) return;
  // Its lanes may read undefined values; among them it counts as a barrier.
  warp.sync_lanes(kNone);
  const TensorStep& matrices = warp.code().tensors[product.matrices];
  const uint32_t lane = static_cast<uint32_t>(std::countr_zero(warp.masks.running));
  const uint32_t bits = element_bits(matrices.a.type);
  const Layout a_layout{matrices.a.rows, matrices.a.columns, bits, !matrices.a.transposed},
      b_layout{matrices.b.columns, matrices.b.rows, bits, !matrices.b.transposed};
  std::optional<Chunks> a_chunks;
  if (matrices.a.registers.empty()) {
    a_chunks = read_shared(warp, step, warp.u64(step.src[0])[lane], a_layout,
                           warp.index % kGroupWarps * kWarpRows);
  }
  const Chunks b_chunks = read_shared(warp, step, warp.u64(step.src[1])[lane], b_layout, 0);
  const bool adds = (warp.pred(step.src[2]) >> lane & 1) != 0;
  if (!matrices.sparsity &&
      multiply_group_tiles(warp, matrices, a_chunks ? &*a_chunks : nullptr, b_chunks, adds)) {
    return;
  }
  Matrix a = a_chunks ? matrix_of(*a_chunks, a_layout) : gather(warp, matrices.a);
  Matrix columns = matrix_of(b_chunks, b_layout);
  Matrix b = transposed(columns);
  Matrix c = adds ? gather(warp, matrices.d) : Matrix(matrices.d.rows, matrices.d.columns);
  if (matrices.sparsity) {
    multiply_sparse(warp, step, matrices, a, b, c);
  } else {
    multiply(matrices, a, b, c, warp.launch->inputs.sm);
  }
  scatter(warp, matrices.d, c);
}

}  // namespace gpuemu::emulator::steps
