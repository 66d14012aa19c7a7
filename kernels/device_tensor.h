// A tensor of a call: address, shape and strides. Borrowed; nothing is owned or copied.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/base/limits.h"
#include "common/numeric/dtype.h"

namespace gpuemu {

/// Strides are in elements, one per axis; 0 repeats an element.
struct DeviceTensor {
  uint64_t address = 0;
  DType dtype = DType::Float32;
  std::span<const int64_t> shape, strides;

  size_t rank() const { return shape.size(); }
  /// Requires non-negative sizes whose product fits.
  int64_t count() const {
    int64_t product = 1;
    for (const int64_t size : shape) product *= size;
    return product;
  }
  /// Returns whether the elements are contiguous in row-major order, ignoring strides of axes of
  /// size 1.
  bool contiguous() const;
};

/// Rows and columns of a matrix. With more axes, all but the last are rows; a vector is one row.
struct RowsCols {
  int64_t rows = 1, cols = 1;
};
RowsCols rows_cols(const DeviceTensor& tensor);

bool same_shape(const DeviceTensor& a, const DeviceTensor& b);
std::string shape_text(std::span<const int64_t> shape);  ///< "[2, 3]"

}  // namespace gpuemu
