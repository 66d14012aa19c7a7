// mma.sp and wgmma.mma_async.sp: products of a matrix A of which half of the elements are given.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/emulator/code/matrix_step.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/matrices/product.h"

namespace gpuemu::emulator::steps {

/// Returns how many values the sparsity selector of a product with this A may have: 1, 2 or 4.
uint32_t sparsity_selectors(const TensorOperand& a);

/// Returns whether the metadata of `lane` count. They belong to rows lane / 4 and lane / 4 + 8 of
/// A, of a warp's 16 rows.
bool holds_metadata(const TensorStep& matrices, uint32_t lane);

/// The row of B by which each element of A is multiplied, row of A after row.
struct TakenRows {
  uint32_t columns = 0;
  std::vector<uint32_t> all;
  std::span<const uint32_t> of(uint32_t row) const {
    return std::span(all).subspan(size_t{row} * columns, columns);
  }
};
/// REQUIRES: `matrices.sparsity`.
TakenRows taken_rows(Warp& warp, const TensorStep& matrices);

/// Computes a * b + c into `c`, for the rows of A of a warp. Reports metadata with which the result
/// is undefined.
void multiply_sparse(Warp& warp, const Step& step, const TensorStep& matrices, Matrix& a, Matrix& b,
                     Matrix& c);

}  // namespace gpuemu::emulator::steps
