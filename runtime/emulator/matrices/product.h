// Matrices held in the registers of a warp, and their product.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/emulator/code/matrix_step.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/numerics/dot.h"

namespace gpuemu::emulator::steps {

/// Returns the bits of one matrix element.
uint32_t element_bits(ptx::Type type);

/// A matrix as the raw bits of its elements.
struct Matrix {
  uint32_t columns = 0;
  std::vector<uint64_t> cells;
  Matrix() = default;
  Matrix(uint32_t rows, uint32_t with_columns)
      : columns(with_columns), cells(size_t{rows} * with_columns) {}
  uint64_t& at(uint32_t row, uint32_t column) { return cells[size_t{row} * columns + column]; }
};

/// Row and column of an element.
struct Place {
  uint32_t row = 0, column = 0;
};
/// Returns the position of element `part` of register `reg` of `lane` in a wmma operand. PTX leaves
/// the layout open; this is the emulator's own.
Place place_of_wmma(const TensorOperand& operand, uint32_t per_register, uint32_t reg,
                    uint32_t lane, uint32_t part);

/// Where an element of a matrix is in the registers of a warp.
struct ElementPlace {
  Place place;
  uint32_t reg = 0, lane = 0, shift = 0;  ///< Offset of its register; its first bit in it.
};
/// Lists all elements of an operand; for wmma some occur more than once.
std::vector<ElementPlace> elements_of(const TensorOperand& operand, uint32_t quad = 0);

/// Number of products in one mma.m8n8k4 with f16. `quad` selects one; it is ignored otherwise.
inline constexpr uint32_t kQuads = 4;
Matrix gather(Warp& warp, const TensorOperand& operand, uint32_t quad = 0);
/// Writes the matrix to the running lanes.
void scatter(Warp& warp, const TensorOperand& operand, Matrix& from, uint32_t quad = 0);

/// Returns the unit of the chip that executes instructions of `kind`.
DotUnit unit_of(TensorKind kind);
/// Computes a * b + c into `c`, with elements of the type of d.
void multiply(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c, int sm);

/// Waits until all lanes of the warp have arrived. Returns false if the instruction must be
/// executed again later.
bool whole_warp(Warp& warp, const Step& step);

}  // namespace gpuemu::emulator::steps
