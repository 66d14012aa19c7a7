// Properties of a tensor that declarations of ops query.
#include "kernels/device_tensor.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace gpuemu {

bool DeviceTensor::contiguous() const {
  int64_t expected = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

RowsCols rows_cols(const DeviceTensor& tensor) {
  RowsCols size;
  if (tensor.shape.empty()) return size;
  size.cols = tensor.shape.back();
  for (const int64_t rows : tensor.shape.first(tensor.rank() - 1)) size.rows *= rows;
  return size;
}

bool same_shape(const DeviceTensor& a, const DeviceTensor& b) {
  return std::ranges::equal(a.shape, b.shape);
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace gpuemu
