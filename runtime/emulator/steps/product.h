// Matrices in the registers of a warp, and their product.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/emulator/code/matrix_step.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

/// Bits of one element of a matrix.
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
/// Place of element `part` of register `reg` of `lane` in an operand of wmma. PTX leaves the places
/// open; these are ours.
Place place_of_wmma(const TensorOperand& operand, uint32_t per_register, uint32_t reg,
                    uint32_t lane, uint32_t part);

/// One element of a matrix in the registers of a warp.
struct ElementPlace {
  Place place;
  uint32_t reg = 0, lane = 0, shift = 0;  ///< Its register's offset; its first bit there.
};
/// All elements of an operand, some more than once for wmma.
std::vector<ElementPlace> elements_of(const TensorOperand& operand, uint32_t quad = 0);

/// Products of one mma.m8n8k4 with f16; `quad` is one of them, and of no meaning for others.
inline constexpr uint32_t kQuads = 4;
Matrix gather(Warp& warp, const TensorOperand& operand, uint32_t quad = 0);
/// Writes to the running lanes.
void scatter(Warp& warp, const TensorOperand& operand, Matrix& from, uint32_t quad = 0);

/// a * b + c in `c`, its elements of the type of d.
void multiply(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c, int sm);

/// Waits until all lanes of the warp have arrived; false: the matrices is executed again later.
bool whole_warp(Warp& warp, const Step& step);

}  // namespace gpuemu::emulator::steps
