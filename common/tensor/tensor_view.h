// A tensor whose elements are stored elsewhere.
#pragma once

#include <cstddef>
#include <span>

#include "common/tensor/tensor.h"

namespace gpuemu {

/// Borrowed, packed, row-major elements.
struct TensorView {
  DType dtype = DType::Float32;
  Shape shape;
  std::span<const std::byte> data;
};
inline TensorView view_of(const Tensor& tensor) {
  return {tensor.dtype, tensor.shape, tensor.data};
}

}  // namespace gpuemu
