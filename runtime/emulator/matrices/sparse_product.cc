#include "runtime/emulator/matrices/sparse_product.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "runtime/emulator/machine/check_report.h"
#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/matrices/tile_product.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator::steps {
namespace {
using ptx::Type;

constexpr uint32_t kGroup = 4;       // Lanes that share two rows.
constexpr uint32_t kRowsApart = 8;   // Between these two rows.
constexpr uint32_t kChunkBits = 4;   // Two positions of two bits.
constexpr uint32_t kWordChunks = 8;  // Chunks in the metadata of a lane.
constexpr uint32_t kGroupWarps = 4;  // Warps of wgmma, each with rows of its own.

/// A row of A consists of chunks of four parts, of which two are kept: parts of two elements of 4
/// bits or one of 8 or 16. Of tf32 a part is half an element, so that both positions are of one.
struct ChunkSize {
  uint32_t columns;  ///< In A as the registers hold it.
  uint32_t rows;     ///< In B.
};
ChunkSize chunks_of(Type type) {
  const uint32_t bits = element_bits(type);
  return bits == 32 ? ChunkSize{1, 2} : bits == 4 ? ChunkSize{4, 8} : ChunkSize{2, 4};
}
uint32_t chunk_count(const TensorOperand& a) { return a.columns / chunks_of(a.type).columns; }

/// Narrow elements need all metadata of a lane for one row, the others half of it.
bool fills_word(Type type) { return element_bits(type) <= 8; }

/// Returns how many lanes of a group hold metadata.
uint32_t holders(const TensorOperand& a) { return chunk_count(a) * 2 / kWordChunks; }

/// Returns the positions of one chunk of a row.
uint32_t positions_of(const uint32_t* metadata, const TensorStep& matrices, uint32_t row,
                      uint32_t chunk) {
  const uint32_t lower = row / kRowsApart;
  const bool fills = fills_word(matrices.a.type);
  const uint32_t per_lane = fills ? kWordChunks : kWordChunks / 2;
  const uint32_t holder = fills ? lower + 2 * (chunk / per_lane) : chunk / per_lane;
  const uint32_t lane =
      row % kRowsApart * kGroup + matrices.sparsity->selector * holders(matrices.a) + holder;
  const uint32_t at = chunk % per_lane + (fills ? 0 : lower * per_lane);
  return metadata[lane] >> at * kChunkBits & 0xf;
}

/// Returns the row of B, counted in the chunk, of a column of A in the chunk.
uint32_t taken_in_chunk(Type type, uint32_t positions, uint32_t column) {
  switch (element_bits(type)) {
    case 32:
      return (positions & 3) / 2;
    case 4:
      return (positions >> column / 2 * 2 & 3) * 2 + column % 2;
    default:
      return positions >> column * 2 & 3;
  }
}

/// Says what is wrong with the positions of a chunk; null: nothing.
const char* mistake_in(Type type, uint32_t positions, bool ordered) {
  const uint32_t first = positions & 3, second = positions >> 2;
  if (element_bits(type) == 32) {
    return positions == 0b0100 || positions == 0b1110 ? nullptr : "has to be 0b0100 or 0b1110";
  }
  if (first == second) return "has to have two different positions";
  return ordered && first > second ? "has to have its positions in ascending order" : nullptr;
}

void check_metadata(Warp& warp, const Step& step, const TensorStep& matrices) {
  const uint32_t* metadata = warp.u32(matrices.sparsity->metadata);
  const uint32_t first_row =
      matrices.kind == TensorKind::Wgmma ? warp.index % kGroupWarps * matrices.a.rows : 0;
  for (uint32_t row = 0; row < matrices.a.rows; ++row) {
    for (uint32_t chunk = 0; chunk < chunk_count(matrices.a); ++chunk) {
      const uint32_t positions = positions_of(metadata, matrices, row, chunk);
      const char* const mistake =
          mistake_in(matrices.a.type, positions, matrices.sparsity->ordered);
      if (mistake == nullptr) continue;
      const uint32_t rows = chunks_of(matrices.a.type).rows;
      return report_check(
          warp, step,
          {.kind = DeviceFindingKind::InvalidMetadata,
           .message = fmt::format("needs valid metadata: {:#06b} of row {}, columns {} to {} of A, "
                                  "{}",
                                  positions, first_row + row, chunk * rows, chunk * rows + rows - 1,
                                  mistake),
           .lane = row % kRowsApart * kGroup});
    }
  }
}

/// Adds to `a` the elements that the registers do not hold, as zeros.
Matrix with_zeros(Matrix& a, const TensorStep& matrices, const TakenRows& taken) {
  Matrix out(matrices.a.rows, matrices.b.rows);
  for (uint32_t i = 0; i < matrices.a.rows; ++i) {
    for (uint32_t k = 0; k < matrices.a.columns; ++k) out.at(i, taken.of(i)[k]) = a.at(i, k);
  }
  return out;
}

/// Computes row by row, with the rows of B that the elements of A select. No other rows of B count,
/// whatever they hold.
void multiply_rows(const TensorStep& matrices, const TakenRows& taken, Matrix& a, Matrix& b,
                   Matrix& c, int sm) {
  TensorStep one = matrices;
  one.sparsity.reset();
  one.a.rows = one.c.rows = one.d.rows = 1;
  one.b.rows = matrices.a.columns;
  for (uint32_t i = 0; i < matrices.a.rows; ++i) {
    Matrix row(1, matrices.a.columns), columns(matrices.a.columns, matrices.b.columns),
        sum(1, matrices.d.columns);
    for (uint32_t k = 0; k < matrices.a.columns; ++k) {
      row.at(0, k) = a.at(i, k);
      for (uint32_t j = 0; j < matrices.b.columns; ++j) {
        columns.at(k, j) = b.at(taken.of(i)[k], j);
      }
    }
    for (uint32_t j = 0; j < matrices.d.columns; ++j) sum.at(0, j) = c.at(i, j);
    multiply(one, row, columns, sum, sm);
    for (uint32_t j = 0; j < matrices.d.columns; ++j) c.at(i, j) = sum.at(0, j);
  }
}

/// Computes all rows at once. Returns false if only the definition of each row gives the result.
bool multiply_at_once(const TensorStep& matrices, const TakenRows& taken, Matrix& a, Matrix& b,
                      Matrix& c, int sm) {
  const bool eight = matrices.a.type == Type::E4M3 || matrices.a.type == Type::E5M2;
  if (eight && matrices.kind != TensorKind::Wgmma) return false;
  Matrix all = with_zeros(a, matrices, taken);
  TensorStep dense = matrices;
  dense.a.columns = matrices.b.rows;
  if (matrices.d.type != Type::S32) return multiply_tiles(dense, all, b, c, sm);
  multiply_integer_tiles(dense, all, b, c);
  return true;
}

}  // namespace

uint32_t sparsity_selectors(const TensorOperand& a) { return kGroup / holders(a); }

bool holds_metadata(const TensorStep& matrices, uint32_t lane) {
  return lane % kGroup / holders(matrices.a) == matrices.sparsity->selector;
}

TakenRows taken_rows(Warp& warp, const TensorStep& matrices) {
  const uint32_t* metadata = warp.u32(matrices.sparsity->metadata);
  const ChunkSize chunks = chunks_of(matrices.a.type);
  TakenRows out{matrices.a.columns, {}};
  out.all.reserve(size_t{matrices.a.rows} * matrices.a.columns);
  for (uint32_t row = 0; row < matrices.a.rows; ++row) {
    for (uint32_t column = 0; column < matrices.a.columns; ++column) {
      const uint32_t chunk = column / chunks.columns;
      const uint32_t positions = positions_of(metadata, matrices, row, chunk);
      out.all.push_back(chunk * chunks.rows +
                        taken_in_chunk(matrices.a.type, positions, column % chunks.columns));
    }
  }
  return out;
}

void multiply_sparse(Warp& warp, const Step& step, const TensorStep& matrices, Matrix& a, Matrix& b,
                     Matrix& c) {
  if (warp.launch->inputs.checks.sync) check_metadata(warp, step, matrices);
  const TakenRows taken = taken_rows(warp, matrices);
  const int sm = warp.launch->inputs.sm;
  if (!multiply_at_once(matrices, taken, a, b, c, sm)) {
    multiply_rows(matrices, taken, a, b, c, sm);
  }
}

}  // namespace gpuemu::emulator::steps
